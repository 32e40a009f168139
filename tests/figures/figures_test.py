"""The scripts that draw the papers' figures, each with little to draw: figures_test.py PROGRAMS [unittest arguments].

PROGRAMS is the folder of the built programs.
"""

import contextlib
import importlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

FIGURES = Path(__file__).resolve().parents[2] / "figures"
sys.path.insert(0, str(FIGURES))
import common  # noqa: E402  (it lies beside the scripts)
import measured  # noqa: E402

NODES = (2, 4, 7)
PAPER_RATIOS = {7: 5}


class Drawn(unittest.TestCase):
    programs = Path()  # set by main()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_script(self, script, *options, programs=None, **smaller):
        """Runs it with other values of its constants; returns what it says."""
        command = [script, "--programs", str(programs or self.programs), "--output", str(self.folder / "drawn"), *options]
        said = io.StringIO()
        module = importlib.import_module(script)
        shared = {"SIZES": NODES, "PAPER_RATIOS": PAPER_RATIOS}
        of_module = {name: value for name, value in {**shared, **smaller}.items() if hasattr(module, name)}
        with patch.multiple(common, **shared), patch.multiple(module, **of_module), patch.object(sys, "argv", command), \
                contextlib.redirect_stdout(said):
            module.main()
        return said.getvalue()

    def check(self, name, *texts):
        """The picture is one, and the document has the texts, and numbers only."""
        picture = ElementTree.parse(self.folder / "drawn" / f"{name}.svg").getroot()
        self.assertTrue(picture.tag.endswith("svg"), picture.tag)
        self.assertNotIn("nan", ElementTree.tostring(picture, encoding="unicode").lower())
        document = (self.folder / "drawn" / f"{name}.md").read_text(encoding="utf-8")
        self.assertNotRegex(document, r"\b(nan|inf)\b|\| *None")
        for text in texts:
            self.assertIn(text, document)


class Simulated(Drawn):
    def test_stencil_1d(self):
        said = self.run_script("stencil_1d", "--seeds", "1")
        self.assertIn("wrote", said)
        self.check("stencil_1d", "| 7 |", "log2 P us", "about 5")

    def test_statistics(self):
        self.run_script("learn_and_assess", "--seeds", "1")
        self.check("statistics", "| 7 |", "Fits over 3 sizes")

    def test_collectives(self):
        script = importlib.import_module("collectives_by_nodes")
        few = script.Question("Few", "allreduce", (script.CHOSEN,), (2, 4), (8,), (2, 4, 8))
        by_size = script.Question("By size", "all_to_all", script.ALL_TO_ALLS, (4,), (8, 1024), (4,))
        self.run_script("collectives_by_nodes", QUESTIONS=(few, by_size))
        self.check("collectives_by_nodes", "## Few", "## By size", "chosen by price", "| 1K |")

    def test_concurrent_reduces(self):
        self.run_script("concurrent_reduces", SIZES=(8, 65536))
        self.check("concurrent_reduces", "| 64K |", "back to back")

    def test_a_program_that_is_missing_is_named(self):
        with self.assertRaises(SystemExit) as ended:
            self.run_script("concurrent_reduces", programs=self.folder)
        self.assertIn("concurrent_reduce_bench is not there", str(ended.exception))
        self.assertFalse((self.folder / "drawn").exists())


class Measured(Drawn):
    def measured(self, *rows):
        folder = self.folder / "out" / "bench"
        folder.mkdir(parents=True)
        (folder / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return self.run_script("measured", ROOT=self.folder)

    def test_times_by_size(self):
        machine = {"operation": "machine", "model": "a machine", "cores": 2}
        rows = [{"operation": "allreduce", "rival": rival, "fabric": "cluster", "memory": "segment", "ranks": 2,
                 "bytes": size, "median_seconds": 1e-6 * size} for rival in ("stretto", "rival") for size in (8, 1024)]
        others = [row | {"rival": "unseen", "input": "rewritten"} for row in rows]
        self.assertIn("wrote", self.measured(machine, *rows, *others))
        self.assertNotIn("unseen", (self.folder / "drawn" / "measured.md").read_text(encoding="utf-8"))
        self.check("measured", "a machine, 2 cores", "stretto cluster", "| rival |", "| 1K |")

    def test_times_by_ranks(self):
        rows = [{"operation": operation, "rival": rival, "fabric": f"local:{ranks}", "ranks": ranks, "bytes": size,
                 "median_seconds": 1e-6 * ranks} for operation in ("allreduce", "all_to_all")
                for rival in ("stretto", "rival") for ranks in (2, 16) for size in (8, 1 << 20, 24)]
        self.measured({"operation": "machine", "model": "a machine", "cores": 2}, *rows)
        self.check("measured_by_ranks", "All-reduce (GASPI, Fig. 11): 1M bytes, ranks on one host",
                   "All-to-all: 8 bytes", "| ranks | 2 | 16 |", "| stretto local | 2 | 16 |")
        document = (self.folder / "drawn" / "measured_by_ranks.md").read_text(encoding="utf-8")
        self.assertNotIn(" 24 bytes", document)

    def test_concurrent_reduces_beside_the_variant_of_the_rivals(self):
        variants = {"stretto": ("parallel", "balanced"), "rival": ("blocking", "nonblocking", "message graph")}
        rows = [{"operation": "concurrent_reduce", "rival": rival, "variant": variant, "fabric": fabric, "ranks": 4,
                 "bytes": size, "median_seconds": 1e-6 * (number + 1)}
                for rival, names in variants.items() for number, variant in enumerate(names) for size in (8, 64)
                for fabric in ("cluster", "sim:4")]
        self.measured({"operation": "machine", "model": "a machine", "cores": 2}, *rows)
        self.check("measured_concurrent_reduces", "| stretto cluster balanced | 2 | 2 |", "| rival | 1 | 1 |",
                   "| rival | 3 | 3 |")
        document = (self.folder / "drawn" / "measured_concurrent_reduces.md").read_text(encoding="utf-8")
        self.assertNotIn("| rival | 2 |", document)
        self.assertNotIn("sim", document)

    def test_lines_that_are_cut_off_are_left_out(self):
        rows = [{"operation": "allreduce", "rival": "a", "fabric": "processes", "ranks": 2, "bytes": size,
                 "median_seconds": 1e-6} for size in (8, 1024)]
        file = self.folder / "cut.jsonl"
        file.write_text("\n".join([*map(json.dumps, rows), "7", '{"operation":"allr']), encoding="utf-8")
        complaints = io.StringIO()
        with contextlib.redirect_stderr(complaints):
            self.assertEqual(measured.read_rows([file]), rows)
        self.assertEqual(complaints.getvalue().replace(str(file), "cut"),
                         "cut:3: not a JSON object, left out\ncut:4: not a JSON object, left out\n")

    def test_nothing_is_written_of_nothing(self):
        self.assertIn("no measurements to draw", self.measured({"operation": "machine", "model": "x", "cores": 1}))
        self.assertFalse((self.folder / "drawn").exists())


if __name__ == "__main__":
    Drawn.programs = Path(sys.argv.pop(1))
    unittest.main()
