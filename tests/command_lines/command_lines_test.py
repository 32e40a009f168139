#!/usr/bin/env python3
"""What the command lines of all programs have in common.

Called as: command_lines_test.py PROGRAM:PROGRAM:... [unittest arguments].
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import call

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


class Programs(unittest.TestCase):
    def test_help_ends_well(self):
        for program in PROGRAMS:
            run = call([program, "--help"], ".")
            self.assertEqual((run.returncode, run.stderr), (0, ""), run)
            self.assertIn(f"Usage: {Path(program).name} [OPTIONS]", run.stdout)

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
