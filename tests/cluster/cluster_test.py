"""Whole jobs: the runtime on real processes, over shared memory and over networks.

Called as: cluster_test.py STRETTO CLUSTER_PROBE [unittest arguments]. Nothing sleeps for a time: whoever waits, waits
for a pipe, a process, or a state of one; ctest's time limit is the only one.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

STRETTO = PROBE = ""
FORGIVE_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # in sanitized builds: of the PMIx library, not ours
NETWORKS = ("tcp", "ucx")


def over(network, device):
    """Settings with which a job uses TCP on that device, by our own carrier or by UCX's."""
    if network == "tcp":
        return {"STRETTO_NETWORK": f"tcp/{device}"}
    return {"STRETTO_NETWORK": "ucx", "UCX_TLS": "tcp", "UCX_NET_DEVICES": device}


def environment(**more):
    """Ours without what announces a job or chooses a network, so that the tests may run inside of a job."""
    announcing = ("STRETTO_", "PMI", "OMPI_", "SLURM_", "UCX_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(announcing)}
    return {**kept, **more}


def call(command, **more):
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more), stdin=subprocess.DEVNULL)


def run(count, *arguments, options=(), **more):
    return call([STRETTO, "run", "-n", str(count), *options, PROBE, *arguments], **more)


def said(result):
    """What the nodes said, without what UCX has to say of a death: it does so on standard output."""
    return sorted(line for line in result.stdout.splitlines() if line.startswith("node "))


def all_ok(count):
    return sorted(f"node {node} of {count} OK" for node in range(count))


def check_disagreement(case, result):
    """Of two nodes: they have heard of it, or, where both were through, it is in the log."""
    case.assertEqual((result.returncode, sorted(result.stdout.splitlines())), (0, all_ok(2)), result)
    case.assertRegex(result.stderr, r"stretto warning \[node [01]\] mismatch: node [01]'s collective at "
                                    r"\S*collective_checks\.cc:\d+, which is over, does not match what node ")


class Job(unittest.TestCase):
    def check(self, count, **more):
        result = run(count, "everything", **more)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(sorted(result.stdout.splitlines()), all_ok(count), result)
        self.assertEqual(result.stderr, "")

    def test_small_jobs(self):
        for count in (1, 2, 3, 4, 7):
            self.check(count)

    def test_many_more_nodes_than_cores(self):
        self.check(16)

    def test_one_worker_thread_is_enough(self):
        self.check(3, STRETTO_WORKERS="1")

    def test_more_worker_threads_than_cores(self):
        self.check(2, STRETTO_WORKERS="5")

    def test_a_number_of_workers_is_not_cut_off(self):
        result = call([PROBE, "everything"], STRETTO_WORKERS=str(2**32))
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("STRETTO_WORKERS is '4294967296', but must be a whole number from 0 to 4096", result.stderr)

    def test_a_program_without_a_launcher_is_a_job_of_one(self):
        result = call([PROBE, "everything"])
        self.assertEqual((result.returncode, result.stdout), (0, "node 0 of 1 OK\n"), result)


class Bound(unittest.TestCase):
    """What STRETTO_BIND=1 does to the cores that the nodes' workers may use."""

    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))

    def cores_used(self, result):
        self.assertEqual(result.returncode, 0, result)
        return [line.split(" may use ")[1] for line in said(result)]

    def test_each_worker_has_a_core_of_its_own(self):
        count = len(self.cores.split(","))
        self.assertCountEqual(self.cores_used(run(count, "cores", STRETTO_WORKERS="1", STRETTO_BIND="1")),
                              self.cores.split(","))
        within_one = self.cores_used(call([PROBE, "cores"], STRETTO_FABRIC=f"local:{3 * count}", STRETTO_BIND="1"))
        self.assertLessEqual(set(within_one), set(self.cores.split(",")))
        self.assertEqual(len(within_one), 3 * count)

    def test_where_there_are_too_few_cores_each_gets_as_many_workers(self):
        cores = self.cores.split(",")
        self.assertCountEqual(self.cores_used(run(3 * len(cores), "cores", STRETTO_WORKERS="1", STRETTO_BIND="1")),
                              3 * cores)

    def test_nobody_is_bound_unasked(self):
        self.assertEqual(self.cores_used(run(1, "cores", STRETTO_WORKERS="1")), [self.cores])


class Programs(unittest.TestCase):
    """Random programs of events and collectives, by processes that share memory. Hosts have some, too."""

    def check(self, count, first, last, **more):
        result = run(count, "programs", str(first), str(last), **more)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(said(result), [f"node {node} OK" for node in range(count)], result)

    def test_of_few_and_many_nodes(self):
        for count in (2, 3, 6):
            self.check(count, 1, 40)

    def test_with_several_workers(self):
        self.check(3, 41, 80, STRETTO_WORKERS="3")

    def test_whether_they_read_each_others_memory_or_not(self):
        for reads in ("on", "off"):
            for count in (2, 3):
                self.check(count, 81, 120, STRETTO_PROCESS_READS=reads)


class Inline(unittest.TestCase):
    """Small calls that are alike: done in the call itself, where the peers' messages are there."""

    def inline_calls(self, result, count):
        self.assertEqual(result.returncode, 0, result)
        lines = said(result)
        node, number, kind, small, lent_kind, lent = lines.pop(1).split()
        self.assertEqual([node, number, kind, lent_kind], ["node", "0", "inline", "lent"], result)
        self.assertEqual(lines, [f"node {node} OK" for node in range(count)], result)
        return [int(small), int(lent)]

    def test_between_processes(self):
        cores = len(os.sched_getaffinity(0))
        for count in (2, 3, 5):
            done = self.inline_calls(run(count, "inline", STRETTO_WORKERS="1"), count)
            if count <= cores:
                self.assertGreater(min(done), 0)

    def test_where_nodes_share_a_process(self):
        # They meet instead: how many calls node 0 is the last one to come to depends on the threads.
        self.inline_calls(call([PROBE, "inline"], STRETTO_FABRIC="local:3"), 3)


class Reproducible(unittest.TestCase):
    def bits(self, result):
        self.assertEqual(result.returncode, 0, result)
        return sorted(result.stdout.splitlines())

    def test_processes_threads_and_simulated_nodes_have_the_same_bits(self):
        for count in (2, 5, 8):
            expected = self.bits(call([PROBE, "sum-reproducibly"], STRETTO_FABRIC=f"local:{count}"))
            self.assertEqual(len(expected), count)
            simulated = call([PROBE, "sum-reproducibly"], STRETTO_FABRIC=f"sim:{count},latency=9us,jitter=5us,reorder=0.2")
            self.assertEqual(self.bits(simulated), expected)
            self.assertEqual(self.bits(run(count, "sum-reproducibly")), expected)
            of_job = run(count, "sum-reproducibly", "job", STRETTO_REPRODUCIBLE="1", STRETTO_WORKERS="1")
            self.assertEqual(self.bits(of_job), expected)

    def test_nodes_that_disagree_hear_of_it(self):
        one_does = 'STRETTO_REPRODUCIBLE=$((STRETTO_JOB_RANK % 2)) exec "$0" sum-reproducibly job'
        result = call([STRETTO, "run", "-n", "2", "sh", "-c", one_does, PROBE])
        self.assertNotEqual(result.returncode, 0, result)
        self.assertIn("mismatch", result.stderr)

    def test_a_switch_is_0_or_1(self):
        result = call([PROBE, "sum-reproducibly"], STRETTO_REPRODUCIBLE="2")
        self.assertIn("STRETTO_REPRODUCIBLE is '2', but must be a whole number from 0 to 1", result.stderr)


class Death(unittest.TestCase):
    def check(self, place):
        for count, victim in ((2, 1), (4, 0), (5, 2)):
            result = run(count, "die", str(victim), place, options=["--keep-going"])
            self.assertEqual(result.returncode, 128 + signal.SIGKILL, result)
            survivors = [f"node {node} peer_lost" for node in range(count) if node != victim]
            self.assertEqual(sorted(result.stdout.splitlines()), survivors, result)
            line = f"stretto run: rank {victim} on host {os.uname().nodename} was killed by signal 9 (Killed)"
            self.assertEqual(result.stderr.splitlines(), [line], result)

    def test_in_a_small_allreduce(self):
        self.check("small-allreduce")

    def test_in_a_large_allreduce(self):
        self.check("large-allreduce")

    def test_in_a_phase_barrier(self):
        self.check("phase-barrier")

    def test_of_an_events_owner(self):
        self.check("event")

    def test_in_a_remote_task(self):
        self.check("remote-task")


class Failure(unittest.TestCase):
    def test_a_main_that_throws_fails_the_job(self):
        for failing in (0, 1, 2):
            result = run(3, "fail", str(failing), options=["--tag"])
            self.assertEqual(result.returncode, 1, result)
            lines = result.stderr.splitlines()
            told = [line for line in lines if "the well is dry" in line]
            self.assertEqual(len(told), 1, result)
            self.assertTrue(told[0].startswith(f"[{failing}] stretto: "), result)
            # The others fail for its sake, and may be quicker to end.
            host = os.uname().nodename
            reasons = {f"stretto run: rank {rank} on host {host} exited with code 1" for rank in range(3)}
            self.assertEqual(len(reasons.intersection(lines)), 1, result)

    def test_a_main_that_throws_waits_for_no_task_elsewhere(self):
        result = run(2, "fail-with-call")
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stderr.count("the well is dry"), 1, result)

    def test_a_node_that_never_begins_is_lost(self):
        result = run(3, "begin-without-first", options=["--tag", "--keep-going"])
        self.assertEqual(result.returncode, 1, result)
        for rank in (1, 2):
            told = [line for line in result.stderr.splitlines() if line.startswith(f"[{rank}] stretto: ")]
            self.assertEqual(len(told), 1, result)
            self.assertIn("node 0 (process", told[0])

    def test_a_task_for_a_node_that_has_left_keeps_nobody(self):
        result = run(2, "call-too-late")
        self.assertEqual((result.returncode, said(result)), (0, ["node 0 called too late"]), result)

    def test_a_launcher_that_is_gone_when_all_is_done_ends_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            # The kernel kills the shell with its launcher, but not the shell's child.
            wrap = ["sh", "-c", 'exec 2>"$0"; "$@" "$PPID"; exit $?', fifo]
            command = [STRETTO, "run", "-n", "1", *wrap, PROBE, "leave-nobody"]
            with subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL) as process:
                with open(fifo) as stream:  # ends when nobody is left that holds it
                    lines = stream.read().splitlines()
                self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(lines[0].startswith("stretto: "), lines)
        self.assertEqual(lines[1], "left")

    def test_another_fabric_under_the_launcher_is_refused(self):
        for fabric in ("local:2", "sim:2"):
            result = run(2, "everything", STRETTO_FABRIC=fabric)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertIn(f"STRETTO_FABRIC={fabric}", result.stderr)

    def test_another_fabric_that_only_the_ranks_have_is_refused_too(self):
        command = [STRETTO, "run", "-n", "2", "env", "STRETTO_FABRIC=local:4", PROBE, "everything"]
        result = call(command)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertIn("STRETTO_FABRIC is local:4", result.stderr)
        self.assertIn("unset STRETTO_FABRIC", result.stderr)


class Processes(unittest.TestCase):
    """For tests that look at the processes of a running job."""

    def start(self, count, *arguments, stderr=None, **more):
        process = subprocess.Popen([STRETTO, "run", "-n", str(count), PROBE, *arguments], stdout=subprocess.PIPE,
                                   stderr=stderr, stdin=subprocess.DEVNULL, text=True, env=environment(**more))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def make_fifo(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        fifo = os.path.join(folder.name, "fifo")
        os.mkfifo(fifo)
        return fifo

    def process_ids(self, process, count):
        lines = [process.stdout.readline().split() for _ in range(count)]
        self.assertEqual(sorted(int(line[1]) for line in lines), list(range(count)), lines)
        self.assertEqual({line[2] for line in lines}, {"pid"}, lines)
        return {int(line[1]): int(line[3]) for line in lines}

    def look_at(self, process_id):
        """Each thread's state, and how often it gave up a core: equal in two looks if it did not run between them."""
        threads = {}
        for thread in os.listdir(f"/proc/{process_id}/task"):
            with open(f"/proc/{process_id}/task/{thread}/status") as file:
                fields = dict(line.split(":", 1) for line in file.read().splitlines())
            switches = tuple(int(fields[f"{kind}_ctxt_switches"]) for kind in ("voluntary", "nonvoluntary"))
            threads[thread] = (fields["State"].split()[0], switches)
        return threads

    def await_quiet(self, process_ids, looks=5):
        """Returns when all threads sleep and none of them has run between several looks in a row."""
        same, before = 0, None
        while same < looks:
            now = [self.look_at(process_id) for process_id in process_ids]
            asleep = all(state == "S" for threads in now for state, _ in threads.values())
            same = same + 1 if asleep and now == before else 0
            before = now

    def await_stopped(self, process_id):
        while any(state != "T" for state, _ in self.look_at(process_id).values()):
            pass


class Stopped(Processes):
    def test_a_stopped_node_is_slow_and_not_dead(self):
        for stopped in (0, 1):
            process = self.start(3, "stop", str(stopped))
            process_ids = self.process_ids(process, 3)
            self.await_stopped(process_ids[stopped])
            self.await_quiet([number for node, number in process_ids.items() if node != stopped])
            os.kill(process_ids[stopped], signal.SIGCONT)
            lines = sorted(process.stdout.read().splitlines())
            self.assertEqual(lines, [f"node {node} OK" for node in range(3)])
            self.assertEqual(process.wait(), 0)


class Idle(Processes):
    def check(self, count):
        fifo = self.make_fifo()
        process = self.start(count, "idle", fifo)
        process_ids = self.process_ids(process, count)
        self.await_quiet(process_ids.values())
        open(fifo, "w").close()
        lines = sorted(process.stdout.read().splitlines())
        self.assertEqual(lines, sorted(f"node {node} woke" for node in range(count)))
        self.assertEqual(process.wait(), 0)

    def test_nobody_is_busy_in_a_job_that_waits(self):
        for count in (1, 2, 16):
            self.check(count)


class Disagreement(unittest.TestCase):
    def test_who_calls_different_things_hears_of_it(self):
        check_disagreement(self, run(2, "disagree"))


class Stalled(Processes):
    """Nodes wait for others, which come when the log has told of it: without that the test would not end."""

    def check(self, count, late, words):
        fifo = self.make_fifo()
        process = self.start(count, "stall", fifo, str(late), str(words), stderr=subprocess.PIPE,
                             STRETTO_STALL_SECONDS="1")
        self.addCleanup(process.stderr.close)
        told = next((line for line in process.stderr if "node 0's gather" in line), "nothing")
        self.assertIn(f"stretto warning [node 0] for some time now, node 0's gather of {8 * words} bytes, root 0, at ", told)
        names = ", ".join(f"{node} (nothing heard of it)" for node in range(count - late, count))
        self.assertIn(f" waits for node {names}; do all members ", told)
        open(fifo, "w").close()
        self.assertEqual(sorted(process.stdout.read().splitlines()), [f"node {node} OK" for node in range(count)])
        self.assertEqual(process.wait(), 0)

    def test_all_who_are_missing_are_named(self):
        self.check(4, 2, 1)

    def test_of_large_data_too(self):
        self.check(2, 1, 131_072)


@unittest.skipUnless(shutil.which("mpirun"), "no mpirun here (Debian: openmpi-bin)")
class Pmix(unittest.TestCase):
    def mpirun(self, count, *arguments, **more):
        return call(["mpirun", "--oversubscribe", "-n", str(count), PROBE, *arguments], OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **FORGIVE_LEAKS, **more)

    def test_a_program_that_is_no_mpi_program_runs_under_mpirun(self):
        for count in (1, 2, 5):
            result = self.mpirun(count, "everything")
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(sorted(result.stdout.splitlines()), all_ok(count), result)

    def test_a_main_that_throws_fails_the_job(self):
        result = self.mpirun(3, "fail", "1")
        self.assertNotEqual(result.returncode, 0, result)
        self.assertEqual(result.stderr.count("the well is dry"), 1, result)

    def test_another_fabric_is_refused(self):
        result = self.mpirun(2, "everything", STRETTO_FABRIC="local:4")
        self.assertNotEqual(result.returncode, 0, result)
        self.assertIn("STRETTO_FABRIC is local:4", result.stderr)


class Agents(unittest.TestCase):
    """For jobs on several hosts, which are reached by a program that is called like ssh."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def agent(self, body):
        path = os.path.join(self.folder, "agent")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\nhost=$1\nshift\n{body}\n")
        os.chmod(path, 0o755)
        return path

    def check_networks(self, result, hosts, network):
        """Whether all nodes are well, and memory carried what stayed on a host, `network` what went to others."""
        count = len(hosts)
        self.assertEqual(result.returncode, 0, result)
        expected = all_ok(count)
        for node, own in enumerate(hosts):
            for peer, other in enumerate(hosts):
                if peer != node:
                    expected.append(f"node {node} to {peer}: {'memory' if other == own else network}")
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(expected), result)
        self.assertEqual(result.stderr, "")


class Hosts(Agents):
    """Two hosts by name, which are this one: they share no memory, as far as nodes know."""

    def run_on(self, network, hosts, count, *arguments, options=()):
        agent = self.agent('exec env STRETTO_HOST_ID=$host "$@"')
        options = ["--hosts", hosts, "--agent", agent, "--bind", "127.0.0.1", "--export", "UCX_TLS,UCX_NET_DEVICES",
                   *options]
        return run(count, *arguments, options=options, **over(network, "lo"))

    def each_network(self):
        for network in NETWORKS:
            with self.subTest(network=network):
                yield network

    def test_who_calls_different_things_hears_of_it(self):
        for network in self.each_network():
            check_disagreement(self, self.run_on(network, "alpha,beta", 2, "disagree"))

    def test_tcp_carries_what_goes_to_another_host(self):
        for network in self.each_network():
            self.check_networks(self.run_on(network, "alpha,beta", 2, "networks"), ["alpha", "beta"], "tcp/lo")

    def test_memory_and_tcp_together(self):
        hosts = ["alpha"] * 3 + ["beta"] * 2
        for network in self.each_network():
            self.check_networks(self.run_on(network, "alpha,beta", 5, "networks"), hosts, "tcp/lo")

    def test_a_host_for_each_node(self):
        hosts = ["a", "b", "c", "d"]
        for network in self.each_network():
            self.check_networks(self.run_on(network, "a,b,c,d", 4, "networks"), hosts, "tcp/lo")

    def test_random_programs(self):
        for network in self.each_network():
            result = self.run_on(network, "alpha,beta", 4, "programs", "1", "25")
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(said(result), [f"node {node} OK" for node in range(4)], result)

    def test_deaths_are_seen_on_other_hosts(self):
        for network in self.each_network():
            for place in ("small-allreduce", "large-allreduce", "phase-barrier", "event", "remote-task"):
                for victim in (0, 3):
                    result = self.run_on(network, "alpha,beta", 4, "die", str(victim), place, options=["--keep-going"])
                    self.assertEqual(result.returncode, 128 + signal.SIGKILL, result)
                    survivors = [f"node {node} peer_lost" for node in range(4) if node != victim]
                    self.assertEqual(said(result), survivors, (place, result))

    def test_schedules_that_go_by_hosts(self):
        for network in self.each_network():
            result = self.run_on(network, "alpha,beta", 5, "by-hosts")
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(said(result), all_ok(5), result)

    def test_reproducible_bits_wherever_the_nodes_are(self):
        expected = said(call([PROBE, "sum-reproducibly"], STRETTO_FABRIC="local:5"))
        self.assertEqual(len(expected), 5)
        for network in self.each_network():
            for hosts in ("alpha,beta", "a,b,c", "a,b,c,d,e"):  # 3 and 2 nodes; 2, 2 and 1; 1 each
                result = self.run_on(network, hosts, 5, "sum-reproducibly")
                self.assertEqual(result.returncode, 0, result)
                self.assertEqual(said(result), expected, (hosts, result))

    def test_a_network_that_is_not_there_is_named(self):
        agent = self.agent('exec env STRETTO_HOST_ID=$host "$@"')
        options = ["--hosts", "alpha,beta", "--agent", agent, "--bind", "127.0.0.1"]
        for network, complaint in (("tcp/no-such-device", 'no network interface "no-such-device"'),
                                   ("udp", 'STRETTO_NETWORK is "udp"')):
            result = run(2, "networks", options=options, STRETTO_NETWORK=network)
            self.assertNotEqual(result.returncode, 0, result)
            self.assertIn(complaint, result.stderr)


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Namespaces(Agents):
    """Two hosts that are network namespaces, joined by one wire (a pair of virtual Ethernet devices)."""

    def setUp(self):
        super().setUp()
        if shutil.which("ip") is None:
            self.skipTest("no ip here (Debian: iproute2)")
        # Device names have 15 characters at most.
        self.hosts = [f"st{os.getpid()}{letter}" for letter in "ab"]
        for host in self.hosts:
            made = ip("netns", "add", host)
            if made.returncode != 0:
                self.skipTest(f"network namespaces are not permitted: {made.stderr.strip()}")
            # Who removes a namespace removes its devices.
            self.addCleanup(ip, "netns", "delete", host)
            entered = ip("-n", host, "link", "set", "lo", "up")  # needs a root that is a mount: not in every chroot
            if entered.returncode != 0:
                self.skipTest(f"network namespaces cannot be entered here: {entered.stderr.strip()}")
        first, second = self.hosts
        wired = ip("link", "add", "wire", "netns", first, "type", "veth", "peer", "name", "wire", "netns", second)
        if wired.returncode != 0:
            self.skipTest(f"virtual Ethernet devices are not permitted: {wired.stderr.strip()}")
        for number, host in enumerate(self.hosts, start=1):
            for arguments in (["address", "add", f"10.213.7.{number}/24", "dev", "wire"],
                              ["link", "set", "wire", "up"]):
                done = ip("-n", host, *arguments)
                self.assertEqual(done.returncode, 0, done)
        for host in self.hosts:  # the kernel takes a moment to see that both ends are plugged in
            while "state UP" not in ip("-n", host, "link", "show", "dev", "wire").stdout:
                pass

    def run_on_both(self, network, count, *arguments, device="wire", options=(), **more):
        agent = self.agent('exec ip netns exec $host env STRETTO_HOST_ID=$host "$@"')
        command = ["ip", "netns", "exec", self.hosts[0], STRETTO, "run", "-n", str(count), "--hosts",
                   ",".join(self.hosts), "--agent", agent, "--bind", "10.213.7.1", "--export",
                   "UCX_TLS,UCX_NET_DEVICES", *options, PROBE, *arguments]
        return call(command, **over(network, device), **more)

    def test_the_wire_carries_what_goes_to_the_other_host(self):
        for network, each in ((network, each) for network in NETWORKS for each in (1, 2)):
            hosts = [host for host in self.hosts for _ in range(each)]
            self.check_networks(self.run_on_both(network, 2 * each, "networks"), hosts, "tcp/wire")

    def test_a_peer_that_cannot_be_reached_is_named(self):
        # Each namespace has a loopback device of its own.
        result = self.run_on_both("tcp", 2, "networks", device="lo")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("node 1: the connection failed: it cannot be reached: 127.0.0.1: ", result.stderr)

    def test_a_death_is_seen_over_the_wire(self):
        for network, victim in ((network, victim) for network in NETWORKS for victim in (0, 3)):
            result = self.run_on_both(network, 4, "die", str(victim), "large-allreduce", options=["--keep-going"])
            self.assertEqual(result.returncode, 128 + signal.SIGKILL, result)
            survivors = [f"node {node} peer_lost" for node in range(4) if node != victim]
            self.assertEqual(said(result), survivors, result)


if __name__ == "__main__":
    STRETTO, PROBE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
