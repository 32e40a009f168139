#!/usr/bin/env python3
"""What the command lines of all programs have in common.

Called as: command_lines_test.py PROGRAM:PROGRAM:... [unittest arguments].
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import InFolder, call, call_into

PROGRAMS = []

# Of programs that take options with values, one that each refuses.
NONSENSE = {
    "conjugate_gradient": ["a.mtx", "--method", "none"],
    "fft3d": ["--n", "8", "8"],
    "statistics": [],
    "stencil_1d": ["--points", "0"],
    "collective_bench": ["--operations", "barrier,none"],
    "concurrent_reduce_bench": ["--sizes", "12"],
    "fabric_ping_pong_bench": ["--cores", "-1", "0"],
    "limits_bench": ["--seconds", "nan"],
    "ping_pong_bench": ["--sizes", "8,-8"],
    "sockets_bench": ["--addresses", "127.0.0.1"],
    "stretto": ["run", "-n", "0", "true"],
}

# Of programs that print results in virtual time, what makes them do so.
RESULT = {
    "conjugate_gradient": ["--poisson", "4", "4", "4", "--json"],
    "fft3d": ["--n", "4", "4", "4", "--repeat", "1", "--json"],
    "stencil_1d": ["--points", "8", "--iterations", "3", "--skip", "1", "--json"],
    "statistics": ["numbers.csv"],
    "collective_bench": ["--operations", "barrier", "--seconds", "1e-6"],
    "concurrent_reduce_bench": ["--sizes", "8", "--seconds", "1e-6"],
}


class Programs(InFolder):
    def test_help_ends_well(self):
        for program in PROGRAMS:
            run = call([program, "--help"], ".")
            self.assertEqual((run.returncode, run.stderr), (0, ""), run)
            self.assertIn(f"Usage: {Path(program).name} [OPTIONS]", run.stdout)

    def assert_lost(self, program, *arguments, **settings):
        """Where its output is lost, it fails and says so."""
        with open("/dev/full", "w") as full:
            run = call_into(full, [program, *arguments], self.folder, **settings)
        self.assertEqual((run.returncode, run.stderr), (1, f"{Path(program).name}: the output could not be written\n"))

    def test_help_that_is_lost_is_an_error(self):
        for program in PROGRAMS:
            self.assert_lost(program, "--help")

    def test_results_that_are_lost_are_an_error(self):
        self.write("numbers.csv", "1\n2\n")
        for program in PROGRAMS:
            if arguments := RESULT.get(Path(program).name):
                self.assert_lost(program, *arguments, STRETTO_FABRIC="sim:4")

    def assert_refused(self, program, *arguments):
        run = call([program, *arguments], ".")
        self.assertEqual((run.returncode, run.stdout), (2, ""), run)
        self.assertRegex(run.stderr, rf"\A{Path(program).name}: [^\n]* \(--help explains the options\)\n\Z")

    def test_what_is_not_understood_is_refused(self):
        for program in PROGRAMS:
            self.assert_refused(program, "--no-such-option")
            if Path(program).name in NONSENSE:
                self.assert_refused(program, *NONSENSE[Path(program).name])


if __name__ == "__main__":
    PROGRAMS = sys.argv[1].split(":")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
