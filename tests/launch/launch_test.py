"""The launcher and the ways into a job, with real processes.

Called as: launch_test.py STRETTO LAUNCH_PROBE [unittest arguments]. Nothing sleeps: whoever waits, waits for a pipe, a
FIFO's end or a process; ctest's time limit is the only one.
"""

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

STRETTO = PROBE = ""
FORGIVE_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # in sanitized builds: of the PMIx library, not ours


def environment(**more):
    """Ours without what announces a job, so that the tests themselves may run inside of one."""
    announcing = ("STRETTO_", "PMI", "OMPI_", "SLURM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(announcing)}
    return {**kept, **more}


def call(command, **more):
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more), stdin=subprocess.DEVNULL)


def run(count, *command, options=(), **more):
    return call([STRETTO, "run", "-n", str(count), *options, *command], **more)


class Job(unittest.TestCase):
    def lines(self, result, code=0):
        self.assertEqual(result.returncode, code, result)
        return sorted(result.stdout.splitlines())

    def test_ranks_find_each_other(self):
        for count in (1, 2, 4, 9):
            lines = self.lines(run(count, PROBE, "exchange"))
            self.assertEqual([line.split(" hosts ")[0] for line in lines],
                             [f"rank {rank} of {count}" for rank in range(count)])
            hosts = {host for line in lines for host in line.split(" hosts ")[1].split(",")}
            self.assertEqual(len(hosts), 1, "one host, one id")

    def test_silent_when_all_is_well(self):
        self.assertEqual(run(2, PROBE, "exchange").stderr, "")

    def test_programs_that_know_nothing_of_stretto_run_too(self):
        self.assertEqual(self.lines(run(3, "echo", "hello")), ["hello"] * 3)

    def test_options_of_the_program_stay_its_own(self):
        result = run(1, PROBE, "show-arguments", "-n", "--tag", "a b")
        self.assertEqual(self.lines(result), ["<--tag>", "<-n>", "<a b>"])

    def test_tags_name_the_rank_of_each_line(self):
        result = run(2, "sh", "-c", "echo out; echo err >&2; printf end", options=["--tag"])
        self.assertEqual(self.lines(result), sorted(f"[{rank}] {text}" for rank in (0, 1) for text in ("out", "end")))
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] err", "[1] err"])

    def test_lines_are_whole(self):
        count, each = 4, 200
        result = run(count, "sh", "-c", f"for i in $(seq {each}); do printf 'a-%s' $STRETTO_JOB_RANK; echo -z; done")
        self.assertEqual(self.lines(result), sorted(f"a-{rank}-z" for rank in range(count) for _ in range(each)))

    def test_much_output_arrives(self):
        result = run(2, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 10000; echo")
        self.assertEqual([len(line) for line in self.lines(result)], [10000] * 600)

    def test_ranks_clean_up_where_nobody_reads_any_more(self):
        with tempfile.TemporaryDirectory() as folder:
            cleaned = os.path.join(folder, "cleaned")
            script = (f"trap 'for i in $(seq 2000); do echo cleaning; done; touch {cleaned}; exit 0' TERM; "
                      "while :; do echo working; done")
            read, write = os.pipe()
            job = subprocess.Popen([STRETTO, "run", "-n", "1", "sh", "-c", script], stdout=write,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment())
            os.close(write)
            os.read(read, 1)
            os.close(read)
            job.wait()
            self.assertTrue(os.path.exists(cleaned))

    def test_interrupts_are_heard_while_nobody_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            script = f"trap 'echo heard > {fifo}; exit 7' TERM; while :; do yes working; done"
            read, write = os.pipe()
            with subprocess.Popen([STRETTO, "run", "-n", "1", "sh", "-c", script], stdout=write,
                                  stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment()) as job:
                os.close(write)
                self.wait_until_full(read)
                job.terminate()
                with open(fifo) as stream:
                    self.assertEqual(stream.read(), "heard\n")
                while job.poll() is None:  # the rank has ended, but not all of its output is written
                    job.terminate()
                os.close(read)
                self.assertNotEqual(job.returncode, 0)

    def wait_until_full(self, pipe):
        """Until the pipe takes no more: it holds the same at a great many looks."""
        held, looks = 0, 0
        while held == 0 or looks < 100_000:
            now = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"1234"))[0]
            looks = looks + 1 if now == held else 0
            held = now

    def test_standard_input_is_empty(self):
        self.assertEqual(self.lines(run(2, "cat")), [])

    def test_closed_standard_streams_hinder_nobody(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            result = call(["sh", "-c", f'exec "$@" {closed}', "sh", STRETTO, "run", "-n", "2", PROBE, "exchange"])
            self.assertEqual((result.returncode, result.stderr), (0, ""), closed)

    def test_the_secret_is_not_left_open_after_joining(self):
        self.assertEqual(self.lines(run(1, PROBE, "secret")), ["before 1", "joined 0"])


class Failure(unittest.TestCase):
    def check(self, result, code, line):
        self.assertEqual(result.returncode, code, result)
        self.assertEqual([text for text in result.stderr.splitlines() if text.startswith("stretto")], [line], result)

    def host(self):
        return os.uname().nodename

    def test_the_exit_code_is_that_of_the_first_that_failed(self):
        result = run(3, PROBE, "fail", "1", "7", options=["--grace", "0"])
        self.check(result, 7, f"stretto run: rank 1 on host {self.host()} exited with code 7")

    def test_a_killed_rank_is_told_to_the_others(self):
        result = run(4, PROBE, "die", "2", options=["--grace", "600"])
        self.check(result, 128 + 9, f"stretto run: rank 2 on host {self.host()} was killed by signal 9 (Killed)")
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} lost 2" for rank in (0, 1, 3)])

    def test_a_rank_killed_before_it_joined_fails_the_fence(self):
        result = run(3, PROBE, "die-early", "0", options=["--grace", "600"])
        self.check(result, 128 + 9, f"stretto run: rank 0 on host {self.host()} was killed by signal 9 (Killed)")
        self.assertEqual(sorted(result.stdout.splitlines()), ["rank 1 peer_lost", "rank 2 peer_lost"])

    def test_keep_going_lets_the_others_finish(self):
        result = run(3, PROBE, "die", "1", options=["--keep-going"])
        self.assertEqual(result.returncode, 128 + 9, result)
        self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 lost 1", "rank 2 lost 1"])

    def test_the_deaf_are_killed_after_the_grace_period(self):
        script = """
            if [ $STRETTO_JOB_RANK = 1 ]; then read line < "$0"; exit 5; fi
            trap '' TERM
            echo > "$0"
            while :; do read line < "$0"; done"""
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            result = run(2, "sh", "-c", script, fifo, options=["--grace", "0.05"])
        self.check(result, 5, f"stretto run: rank 1 on host {self.host()} exited with code 5")

    def test_abort_ends_the_job_at_once(self):
        result = run(3, PROBE, "abort", "2", options=["--grace", "600"])
        self.check(result, 1, f"stretto run: rank 2 on host {self.host()} aborted the job: deadlock: nobody moves")

    def test_a_wrong_secret_is_refused_and_harms_nobody(self):
        result = run(2, PROBE, "wrong-secret")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout.count("cannot prove the job secret"), 2, result)
        self.assertEqual(result.stdout.count("of 2 hosts"), 2, result)

    def test_silent_strangers_block_nobody(self):
        result = run(3, PROBE, "strangers")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout.count("of 3 hosts"), 3, result)

    def test_too_few_descriptors_are_named(self):
        named = 0
        for limit in range(12, 72, 4):
            command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", STRETTO, "run", "-n", "12", PROBE, "exchange"]
            result = subprocess.run(command, capture_output=True, text=True, env=environment(),
                                    stdin=subprocess.DEVNULL)
            if result.returncode != 0:
                self.assertIn("ulimit -n", result.stderr, f"{limit}: {result}")
                named += 1
        self.assertGreater(named, 0)

    def test_strangers_that_find_no_descriptor_wait(self):
        result = call(["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", STRETTO, "run", "-n", "2", PROBE, "crowd"])
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("crowded", result.stdout)
        self.assertEqual(result.stdout.count("cannot prove the job secret"), 1, result)

    def test_what_cannot_be_started_is_named(self):
        result = run(2, "./no-such-program")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("cannot start ./no-such-program: No such file or directory", result.stderr)

    def test_another_fabric_is_a_contradiction(self):
        result = run(2, PROBE, "exchange", STRETTO_FABRIC="local:4")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("STRETTO_FABRIC=local:4", result.stderr)

    def test_misuse_of_the_command_is_explained(self):
        for code, arguments in ((2, ["-n", "0", "true"]), (2, ["-n", "70000", "true"]), (2, ["true"]),
                                (2, ["-n", "x", "true"]), (2, ["-n", "2"]), (2, ["-n", "2", "--hosts", "a,b", "true"]),
                                (1, ["-n", "2", "--bind", "0.0.0.0", "true"])):
            result = call([STRETTO, "run", *arguments])
            self.assertEqual(result.returncode, code, arguments)
            self.assertTrue(result.stderr, arguments)


class Signals(unittest.TestCase):
    def start(self, *command, **more):
        process = subprocess.Popen([STRETTO, "run", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=environment(**more), stdin=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_interrupts_and_termination_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("-n", "3", PROBE, "await-signal")
            process.send_signal(number)
            lines = sorted(process.stdout.read().splitlines())
            self.assertEqual(lines, [f"rank {rank} signal {int(number)}" for rank in range(3)])
            self.assertEqual(process.wait(), 0)

    def test_ranks_die_with_the_launcher(self):
        for wrap in ([], ["sh", "-c", '"$@"; exit $?', "sh"]):
            with tempfile.TemporaryDirectory() as folder:
                fifo = os.path.join(folder, "fifo")
                os.mkfifo(fifo)
                reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
                process = self.start("-n", "2", *wrap, PROBE, "outlive", fifo)
                os.set_blocking(reader, True)
                process.kill()
                with os.fdopen(reader) as stream:  # ends when no rank is left that holds it
                    lines = stream.read().splitlines()
                # Children of a wrapper are not killed by the kernel: they notice that the launcher closed.
                self.assertEqual(lines, ["peer_lost"] * 2 if wrap else [line for line in lines if line == "peer_lost"])


class Hosts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def agent(self, body='shift; exec env STRETTO_HOST_ID=$host "$@"'):
        """A program that is called like ssh, but stays here."""
        path = os.path.join(self.folder.name, "agent")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\nhost=$1\n{body}\n")
        os.chmod(path, 0o755)
        return path

    def run_on(self, hosts, count, *command, agent=None, options=(), **more):
        options = ["--hosts", hosts, "--agent", agent or self.agent(), "--bind", "127.0.0.1", *options]
        return run(count, *command, options=options, **more)

    def test_ranks_are_shared_out_in_blocks(self):
        result = self.run_on("alpha,beta", 5, PROBE, "exchange")
        self.assertEqual(result.returncode, 0, result)
        hosts = "alpha,alpha,alpha,beta,beta"
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} of 5 hosts {hosts}" for rank in range(5)])
        self.assertEqual(result.stderr, "")

    def test_more_hosts_than_ranks(self):
        result = self.run_on("a,b,c", 2, PROBE, "exchange")
        lines = sorted(result.stdout.splitlines())
        self.assertEqual(lines, [f"rank {rank} of 2 hosts a,b" for rank in range(2)], result)

    def test_arguments_pass_no_shell(self):
        wild = ["a b", "$HOME", "'", '"', "*", "", "\\"]
        result = self.run_on("alpha", 1, PROBE, "show-arguments", *wild)
        self.assertEqual(result.stdout.splitlines(), [f"<{text}>" for text in wild], result)

    def test_settings_and_exported_variables_travel(self):
        strip = 'shift; exec env -i "$@"'
        script = "echo $STRETTO_LOG,$PROBE_A,$PROBE_B"
        result = self.run_on("alpha", 1, "/bin/sh", "-c", script, agent=self.agent(strip),
                             options=["--export", "PROBE_A"], STRETTO_LOG="info", PROBE_A="1", PROBE_B="2")
        self.assertEqual(result.stdout.splitlines(), ["info,1,"], result)

    def test_a_death_on_a_host_is_reported_by_name(self):
        result = self.run_on("alpha,beta", 4, PROBE, "die", "3", options=["--grace", "600"])
        self.assertEqual(result.returncode, 128 + 9, result)
        line = "stretto run: rank 3 on host beta was killed by signal 9 (Killed)"
        self.assertEqual(result.stderr.splitlines(), [line])
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} lost 3" for rank in range(3)])

    def test_remote_ranks_are_terminated_too(self):
        result = self.run_on("alpha,beta", 4, PROBE, "fail", "0", "6", options=["--grace", "0"])
        self.assertEqual(result.returncode, 6, result)

    def test_an_agent_uses_as_many_descriptors_as_it_may(self):
        agent = self.agent('shift; ulimit -S -n 40; exec env STRETTO_HOST_ID=$host "$@"')
        result = self.run_on("alpha", 12, PROBE, "exchange", agent=agent)
        self.assertEqual(result.returncode, 0, result)

    def test_an_agent_without_standard_output(self):
        for closed in (">&-", ">&- 2>&-"):
            agent = self.agent(f'shift; exec env STRETTO_HOST_ID=$host "$@" {closed}')
            result = self.run_on("alpha", 2, PROBE, "exchange", agent=agent)
            self.assertEqual((result.returncode, result.stderr), (0, ""), closed)

    def test_an_agent_that_cannot_reach_its_host(self):
        agent = self.agent("echo \"no route to $host\" >&2; exit 255")
        result = self.run_on("alpha", 2, PROBE, "exchange", agent=agent)
        self.assertEqual(result.returncode, 255, result)
        self.assertIn("no route to alpha", result.stderr)
        self.assertIn("the agent of host alpha exited with code 255", result.stderr)

    def test_a_host_that_does_not_answer_is_named(self):
        agent = self.agent('shift; [ $host = beta ] && exec cat; exec env STRETTO_HOST_ID=$host "$@"')
        options = ["--hosts", "alpha,beta", "--agent", agent, "--bind", "127.0.0.1", "--patience", "0.001"]
        with subprocess.Popen([STRETTO, "run", "-n", "2", *options, PROBE, "exchange"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=environment()) as process:
            self.assertTrue(any("host beta has not answered yet" in line for line in process.stderr))
            process.terminate()

    def test_an_agent_that_does_not_start_the_job(self):
        result = self.run_on("alpha", 2, PROBE, "exchange", agent=self.agent("exit 0"))
        self.assertEqual(result.returncode, 1, result)

    def test_a_program_that_is_missing_on_a_host(self):
        result = self.run_on("alpha", 2, "./no-such-program", options=["--grace", "0"])
        self.assertEqual(result.returncode, 127, result)
        self.assertIn("cannot start ./no-such-program", result.stderr)

    def test_the_far_end_is_not_for_people(self):
        for text in (b"", b"xx", b"\xff\xff\xff\xff", b"\x04\0\0\0abcd"):
            result = subprocess.run([STRETTO, "serve-ranks"], input=text, capture_output=True, env=environment())
            self.assertEqual(result.returncode, 1, result)
            self.assertTrue(result.stderr)


@unittest.skipUnless(shutil.which("mpirun"), "no mpirun here (Debian: openmpi-bin)")
class Pmix(unittest.TestCase):
    def mpirun(self, count, *command):
        return call(["mpirun", "--oversubscribe", "-n", str(count), *command], OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **FORGIVE_LEAKS)

    def test_a_program_that_is_no_mpi_program_starts_under_mpirun(self):
        result = self.mpirun(3, PROBE, "exchange")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual([line.split(" hosts ")[0] for line in sorted(result.stdout.splitlines())],
                         [f"rank {rank} of 3" for rank in range(3)])

    def test_an_abort_ends_the_job(self):
        self.assertNotEqual(self.mpirun(3, PROBE, "abort", "1").returncode, 0)

    def test_without_pmix_it_is_no_silent_job_of_one(self):
        result = self.mpirun(2, "env", "-u", "PMIX_RANK", "-u", "PMIX_NAMESPACE", PROBE, "exchange")
        self.assertNotEqual(result.returncode, 0, result)
        self.assertIn("Open MPI (OMPI_COMM_WORLD_SIZE) announces 2 ranks", result.stderr)

    def test_our_launcher_inside_of_another_one(self):
        result = self.mpirun(1, STRETTO, "run", "-n", "2", PROBE, "exchange")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout.count(" of 2 hosts "), 2, result)


class Unreachable(unittest.TestCase):
    """Launchers that announce ranks which can't be reached: explained, never a silent job of size 1."""

    def check(self, words, **announced):
        result = call([PROBE, "exchange"], **FORGIVE_LEAKS, **announced)
        self.assertEqual(result.returncode, 4, result)
        self.assertIn(words, result.stderr)

    def test_hydra(self):
        self.check("hydra has no PMIx", PMI_RANK="0", PMI_SIZE="2")

    def test_slurm(self):
        self.check("srun --mpi=pmix", SLURM_PROCID="0", SLURM_NTASKS="2")

    def test_pmix_without_its_server(self):
        self.check("PMIx_Init", PMIX_RANK="0", PMIX_NAMESPACE="nobody")

    def test_our_own_without_its_secret(self):
        self.check("STRETTO_JOB_SECRET_FD", STRETTO_JOB_ENDPOINT="127.0.0.1:1", STRETTO_JOB_RANK="0",
                   STRETTO_JOB_SIZE="2", STRETTO_JOB_SECRET_FD="77")

    def test_our_own_without_its_launcher(self):
        secret = os.memfd_create("secret", 0)
        os.write(secret, bytes(32))
        announced = {"STRETTO_JOB_ENDPOINT": "127.0.0.1:1", "STRETTO_JOB_RANK": "0", "STRETTO_JOB_SIZE": "2",
                     "STRETTO_JOB_SECRET_FD": str(secret)}
        result = subprocess.run([PROBE, "exchange"], capture_output=True, text=True, env=environment(**announced),
                                pass_fds=[secret])
        os.close(secret)
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("cannot connect to 127.0.0.1:1: Connection refused", result.stderr)

    def test_nobody_announces_anything(self):
        self.assertEqual(call([PROBE, "exchange"]).stdout.split(" hosts ")[0], "rank 0 of 1")


if __name__ == "__main__":
    STRETTO, PROBE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
