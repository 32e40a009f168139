#!/usr/bin/env python3
"""The commands of docs/guide that stand in lines of their own, tried as a reader would: each does what the guide says.

Called as: guides_test.py FOLDER_OF_PROGRAMS [unittest arguments]. Those of solve_a_sparse_system.md are in the tests of
that program.
"""

import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import REPOSITORY, InFolder, call

PROGRAMS = ""


class Guide(InFolder):
    """Runs what stands in a guide, smaller and shorter; comments behind commands are left out by the shell."""

    smaller = {"32 32 32": "8 8 8", "16 16 16": "6 6 6", "--measure\n": "--measure --seconds 0.001\n"}

    def commands_of(self, guide):
        text = (REPOSITORY / "docs" / "guide" / guide).read_text()
        for long, short in self.smaller.items():
            text = text.replace(long, short)
        return re.findall(r"(?m)^    ((?:STRETTO_\w+=\S+ )?(?:build/release/bin/|stretto )\S.*)$", text)

    def run_command(self, command):
        path = f"{self.folder}:{PROGRAMS}:{os.environ['PATH']}"
        line = command.replace("build/release/bin/", "")
        return call(["bash", "-c", line], self.folder, PATH=path)

    def run_all(self, guide, count):
        """Those commands that succeed, by what they have printed."""
        commands = self.commands_of(guide)
        self.assertEqual(len(commands), count, commands)
        printed = {}
        for command in commands:
            run = self.run_command(command)
            if "kill=" in command:
                self.assertEqual((run.returncode, "peer_lost" in run.stderr), (1, True), (command, run))
                continue
            self.assertEqual(run.returncode, 0, (command, run))
            printed[command] = run.stdout
        return printed


class CombineData(Guide):
    def test_commands(self):
        self.run_all("combine_data.md", 1)


class Overlap(Guide):
    def test_commands(self):
        (row,) = self.run_all("overlap.md", 1).values()
        self.assertIn('"exposed":', row)


class RunOnSeveralHosts(Guide):
    """Its hosts are this one, entered by a program that is called like ssh."""

    smaller = {"10.0.0.1": "127.0.0.1", "./app": "first_steps", "-o costs.json": "-o costs.json --seconds 0.001"}

    def test_commands(self):
        ssh = self.write("ssh", '#!/bin/sh\nhost=$1\nshift\nexec env STRETTO_HOST_ID=$host "$@"\n')
        ssh.chmod(0o755)
        printed = self.run_all("run_on_several_hosts.md", 5)
        self.assertTrue((self.folder / "costs.json").exists())
        jobs = {command: lines for command, lines in printed.items() if "first_steps" in command}
        self.assertEqual(len(jobs), 3)
        for command, lines in jobs.items():
            ranks = int(re.search(r"-n (\d+)", command).group(1))
            total = ranks * (ranks + 1) // 2
            self.assertEqual(sorted(lines.splitlines()), [f"node {rank}: {total}" for rank in range(ranks)], command)


class SimulateAMachine(Guide):
    def test_commands(self):
        printed = self.run_all("simulate_a_machine.md", 10)
        recorded, replayed = (next(text for command, text in printed.items() if word in command)
                              for word in ("record=", "replay="))
        self.assertIn("converged", recorded.splitlines()[-1])
        self.assertEqual(recorded.splitlines()[-1], replayed.splitlines()[-1])
        self.assertIn("kill", next(text for command, text in printed.items() if "--fabrics" in command))
        self.assertTrue((self.folder / "rounds.svg").exists())


if __name__ == "__main__":
    PROGRAMS = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
