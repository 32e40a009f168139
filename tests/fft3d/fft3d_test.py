#!/usr/bin/env python3
"""The program fft3d between processes; apps/fft3d has the tests of all else.

See program_case.py for how it is called.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import NeedsLauncher, main


class Processes(NeedsLauncher):
    def check(self, processes, n, planes):
        """Overlapped and not, the transform is that of the whole array, and back again what was there."""
        run = self.run_processes(processes, "--n", *n, "--planes-per-message", planes, "--repeat", 2, "--check",
                                 "--json")
        found = self.result(run)
        self.assertEqual([found["nodes"], found["n"], found["correct"]], [processes, list(n), True])
        self.assertEqual([each["overlap"] for each in found["runs"]], ["on", "off"])
        for each in found["runs"]:
            self.assertEqual(each["samples"], 2 * processes)
            self.assertLess(each["serial_error"], 1e-14)
            self.assertLess(each["round_trip_error"], 1e-14)
        return run

    def test_is_that_of_one_node(self):
        self.check(2, (12, 10, 6), 1)
        self.check(2, (7, 16, 3), 3)
        self.check(3, (13, 8, 5), 2)

    def test_large_blocks(self):
        self.check(2, (8, 64, 48), 1)
        self.check(2, (8, 30, 64), 4)

    def test_processes_without_planes_take_part(self):
        self.check(4, (3, 9, 2), 1)

    def test_only_node_0_speaks(self):
        self.assertEqual(self.check(3, (4, 4, 4), 1).stdout.count("fft3d:"), 1)


if __name__ == "__main__":
    main()
