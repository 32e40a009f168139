"""What benchmarks/compare.py makes of rows that were measured: compare_test.py [unittest arguments]."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import compare  # noqa: E402  (it lies beside the benchmarks)


def row_of(rival, seconds, heat=None, **more):
    row = {"operation": "allreduce", "rival": rival, "fabric": "cluster", "ranks": 2, "bytes": 8, "iterations": 100,
           "median_seconds": seconds, "p99_seconds": seconds, "back_to_back_seconds": seconds, **more}
    return row if heat is None else {"heat": heat, **row}


class Compared(unittest.TestCase):
    def table_of(self, *files):
        """What is printed of files with such rows."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for rows in files:
                paths.append(str(Path(folder) / f"{len(paths)}.jsonl"))
                Path(paths[-1]).write_text("".join(json.dumps(row) + "\n" for row in rows))
            said = io.StringIO()
            with patch.object(sys, "argv", ["compare.py", *paths]), contextlib.redirect_stdout(said):
                self.assertEqual(compare.main(), 0)
        return said.getvalue()

    def medians_of(self, *files):
        """The cells of the first line of the first table of times."""
        lines = self.table_of(*files).split("median over the calls")[1].splitlines()
        return lines[4].split()

    def test_a_ratio_is_that_of_medians_where_no_heats_are_told(self):
        rows = [row_of("stretto", 1e-6), row_of("stretto", 3e-6), row_of("mpi", 4e-6)]
        self.assertEqual(self.medians_of(rows)[-2:], ["ahead", "0.50"])

    def test_a_ratio_is_that_within_heats(self):
        # The machine is slow in the last two of three heats; in one of them the rival was not measured.
        rows = [row_of("stretto", 1e-6, 1), row_of("mpi", 2e-6, 1), row_of("stretto", 10e-6, 2), row_of("mpi", 20e-6, 2),
                row_of("stretto", 10e-6, 3)]
        self.assertEqual(self.medians_of(rows)[-2:], ["ahead", "0.50"])

    def test_heats_of_two_runs_are_not_the_same(self):
        fast = [row_of("stretto", 1e-6, 1), row_of("mpi", 2e-6, 1)]
        slow = [row_of("stretto", 10e-6, 1), row_of("mpi", 10e-6, 1)]
        self.assertEqual(self.medians_of(fast, slow)[-2:], ["ahead", "0.75"])

    def test_the_best_rival_is_the_one_beside_which_stretto_does_worst(self):
        rows = []
        for heat in range(5):
            rows += [row_of("stretto", 2e-6, heat), row_of("one", 4e-6, heat), row_of("other", 2.5e-6, heat)]
        self.assertEqual(self.medians_of(rows)[-2:], ["ahead", "0.80"])
        rows.append(row_of("seldom", 1e-6, 0))
        self.assertEqual(self.medians_of(rows)[-2:], ["ahead", "0.80"], "one heat of five says little")

    def test_memory_of_users_is_compared_with_every_mpi(self):
        rows = [row_of("stretto", 1e-6, 1, memory="segment"), row_of("stretto", 3e-6, 1, memory="user"),
                row_of("mpi", 2e-6, 1)]
        self.assertIn("ahead 0.50", self.table_of(rows))
        self.assertIn("allreduce, user memory", self.table_of(rows))
        self.assertIn("1.50", self.table_of(rows))

    def test_times_are_rounded_before_their_unit_is_chosen(self):
        self.assertEqual(compare.in_units(999.7e-6), "1 ms")
        self.assertEqual(compare.in_units(999.4e-6), "999 us")

    def test_a_heat_is_no_setting_of_a_benchmark_of_events(self):
        row = {"heat": 0, "benchmark": "chain", "nodes": 1, "unit": "ns_per_hop", "median": 20, "repetitions": 9}
        self.assertNotIn("heat", self.table_of([row]))


if __name__ == "__main__":
    unittest.main()
