#!/usr/bin/env python3
"""The program statistics as its users meet it: command line, files, exit status, output.

See program_case.py for how it is called.
"""

import json
import os
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import NODE_COUNTS, REPOSITORY, VENV_PYTHON, InFolder, NeedsLauncher, NeedsPython, call, main

COMPARE = REPOSITORY / "tools" / "compare_statistics_with_scipy.py"
METHODS = ("native", "aggregate")
SMALL = "name,height,weight\nann,170,60\nbob,180,\ncid,175,75\ndan,190,80\neve,165,55\n"


def measurements(rows, seed=1):
    """A text column, correlated ones, one far from zero, one of few values, one with gaps of every kind."""
    draw = random.Random(seed)
    lines = ["label,x,\"y, quoted\",far,dice,gaps,constant"]
    for row in range(rows):
        x = draw.gauss(2, 3)
        gap = ("", "NA", "n/a", "NaN", "null")[row % 5] if row % 11 == 4 else repr(draw.expovariate(1))
        lines.append(f"\"r{row}, \"\"q\"\"\",{x!r},{x * 0.5 + draw.random()!r},{1e6 + draw.gauss(0, 1)!r},"
                     f"{draw.randint(1, 6)},{gap},4.5")
    return "\r\n".join(lines) + "\r\n"


class Results(InFolder):
    def test_a_small_file(self):
        file = self.write("small.csv", SMALL)
        for method in METHODS:
            found = self.result(self.run_nodes(file, "--method", method, "--json", "--bins", 2, "--threshold", 1,
                                               fabric="local:3"))
            self.assertEqual([found["nodes"], found["rows"], found["complete_rows"]], [3, 5, 4])
            height, weight = found["columns"]
            self.assertEqual([height["name"], height["count"], height["mean"]], ["height", 5, 176])
            self.assertEqual([height["variance"], height["histogram"]["counts"]], [92.5, [3, 2]])
            self.assertEqual(height["deviations"]["outliers"], 2)
            self.assertEqual([weight["count"], weight["missing"], weight["mean"]], [4, 1, 67.5])
            self.assertEqual([each["method"] for each in found["methods"]], [method])

    def test_all_node_counts_agree(self):
        file = self.write("m.csv", measurements(500))
        base = self.result(self.run_nodes(file, "--json", fabric="local:1"))
        for method in METHODS:
            for fabric in [f"local:{nodes}" for nodes in NODE_COUNTS] + ["sim:5"]:
                found = self.result(self.run_nodes(file, "--method", method, "--json", "--repeat", 1, fabric=fabric))
                for was, now in zip(base["columns"], found["columns"], strict=True):
                    for key in ("name", "count", "missing", "minimum", "maximum", "histogram"):
                        self.assertEqual(was[key], now[key], (method, fabric))
                    self.assertEqual(was["deviations"]["outliers"], now["deviations"]["outliers"])
                    for key in ("mean", "variance", "kurtosis"):
                        if was[key] is not None:
                            self.assertAlmostEqual(was[key], now[key], delta=1e-9 * abs(was[key]) + 1e-12)
                    self.assertEqual(was["skewness"] is None, now["skewness"] is None)

    def test_both_methods(self):
        run = self.run_nodes(self.write("m.csv", measurements(100)), "--columns", "x,gaps", "--method", "both",
                             "--json", "--repeat", 3, fabric="local:4")
        found = self.result(run)
        self.assertEqual([each["method"] for each in found["methods"]], list(METHODS))
        self.assertEqual([each["samples"] for each in found["methods"]], [12, 12])
        self.assertLess(found["methods_difference"], 1e-12)
        self.assertIn("native ", run.stdout)
        self.assertIn("aggregate ", run.stdout)

    def test_deviations_of_every_row(self):
        file = self.write("small.csv", SMALL)
        for nodes in NODE_COUNTS:
            run = self.run_nodes(file, "--columns", "weight,height", "--deviations", "z.csv", fabric=f"local:{nodes}")
            self.assertEqual(run.returncode, 0, run)
            lines = (self.folder / "z.csv").read_text().splitlines()
            self.assertEqual(lines[0], "weight,height,mahalanobis")
            self.assertEqual(len(lines), 6)
            self.assertRegex(lines[2], r"^,0\.4159\d*,$")
            self.assertRegex(lines[4], r"^1\.0502\d*,1\.455\d*,[\d.]+$")

    def test_a_header_or_none(self):
        file = self.write("numbers.csv", "1,2\n3,4")
        self.assertEqual(self.result(self.run_nodes(file, "--json"))["rows"], 2)
        found = self.result(self.run_nodes(file, "--json", "--header", "yes"))
        self.assertEqual([found["rows"], found["columns"][0]["name"]], [1, "1"])

    def test_help(self):
        run = self.run_nodes("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("Examples:", run.stdout)

    def test_output_for_people(self):
        run = self.run_nodes(self.write("small.csv", SMALL), fabric="sim:4")
        self.assertEqual([run.returncode, run.stderr], [0, ""])
        for part in ("5 rows (4 complete), 4 nodes", "times are virtual", "height", "correlations", "native"):
            self.assertIn(part, run.stdout)


class Refusals(InFolder):
    """Whatever is wrong gives one clear line on standard error, a status, and no result, on every number of nodes."""

    def refused(self, *arguments, because, fabrics=("local:1", "local:3", "local:16", "sim:5"), code=1):
        for fabric in fabrics:
            for method in METHODS:
                run = self.run_nodes(*arguments, "--method", method, "--json", fabric=fabric)
                self.assert_refused(run, because, code)
                self.assertEqual(run.stdout, "")

    def refused_file(self, text, because, *arguments):
        self.refused(self.write("bad.csv", text), *arguments, because=because)

    def test_files(self):
        self.refused("none.csv", because="none.csv is not there")
        self.refused(".", because="no regular file")
        self.refused_file("", "bad.csv:1: the file is empty")
        self.refused_file("a,b\n", "bad.csv:1: no row follows the header")
        self.refused_file("a,b\nx,y\n", "no column of numbers")
        self.refused_file("a,b\n1,2\n3,4,5\n", "bad.csv:3: 3 fields, not 2")
        self.refused_file("a,b\n1,2\n3,four\n", "bad.csv:3: column .b.: .four. is not a number")
        self.refused_file("a,b\n1,2\n\"3,4\n", "bad.csv:3: a quoted field is not closed")
        self.refused_file("a\n1\ninf\n", "bad.csv:3: .*inf")

    def test_the_first_fault_of_many_is_told(self):
        good = "".join(f"{row},{row * row}\n" for row in range(200))
        text = "a,b\n" + good + "1,x\n" + good + "1,2,3\n" + good + "y,1\n"
        self.refused_file(text, "bad.csv:202: column .b.: .x.")

    def test_columns(self):
        self.refused_file(SMALL, "no column .width.", "--columns", "height,width")
        self.refused_file(SMALL, "column .name.: .ann. is not a number", "--columns", "name")
        self.refused_file(SMALL, "twice", "--columns", "height,2")

    def test_a_file_that_cannot_be_written_is_refused_before_the_work(self):
        self.refused_file(SMALL, "none/z.csv cannot be written", "--deviations", "none/z.csv")

    def test_results_do_not_overwrite_what_is_read(self):
        file = self.write("small.csv", SMALL)
        because = "--deviations would overwrite ./small.csv, which is the CSV file"
        self.refused(file, "--deviations", "./small.csv", because=because)
        self.assertEqual(file.read_text(), SMALL)

    def test_bad_command_lines(self):
        self.refused(because="name a CSV file", fabrics=("local:2",), code=2)
        self.refused("a.csv", "--bins", 0, because="--bins", fabrics=("local:2",), code=2)

    def test_bad_settings(self):
        self.write("small.csv", SMALL)
        run = self.run_nodes("small.csv", fabric="loca:3")
        self.assertEqual(run.returncode, 1, run)
        self.assertIn("STRETTO_FABRIC", run.stderr)

    def test_a_node_that_dies(self):
        self.write("small.csv", SMALL)
        for method in METHODS:
            run = self.run_nodes("small.csv", "--method", method, fabric="sim:4,kill=2@20us")
            self.assertEqual(run.returncode, 1, run)
            self.assertIn("peer_lost", run.stderr)


class Scipy(NeedsPython):
    """Against NumPy and SciPy."""

    def compare(self, file, *arguments, node_counts=NODE_COUNTS):
        for method in METHODS:
            for nodes in node_counts:
                run = self.run_nodes(file, *arguments, "--json", "--method", method, "--deviations", "z.csv",
                                     "--repeat", 1, fabric=f"local:{nodes}")
                self.assertEqual(run.returncode, 0, run)
                self.write("found.json", run.stdout)
                comparison = call([VENV_PYTHON, COMPARE, file, "found.json", "z.csv"], self.folder)
                self.assertEqual(comparison.returncode, 0, (method, nodes, comparison))

    def test_measurements(self):
        file = self.write("m.csv", measurements(700))
        self.compare(file)
        self.compare(file, "--columns", "\"y, quoted\",x,gaps,dice", "--bins", 33, "--threshold", 1.7)

    def test_one_column(self):
        self.compare(self.write("m.csv", measurements(50)), "--columns", "dice", "--threshold", 1.2)

    def test_ratings(self):
        ratings = Path(os.environ.get("STRETTO_TEST_DATA", ".")) / "movietweetings-100k-ratings.dat"
        if not ratings.exists():
            self.skipTest("movietweetings-100k-ratings.dat is not there: STRETTO_TEST_DATA names its folder")
        text = ratings.read_text().replace("::", ",")
        self.compare(self.write("ratings.csv", "user,item,rating,seconds\n" + text), "--columns", "rating,seconds,user",
                     node_counts=(1, 7))

    def test_a_wrong_result_is_noticed(self):
        file = self.write("m.csv", measurements(60))
        run = self.run_nodes(file, "--json", "--deviations", "z.csv")
        scores = (self.folder / "z.csv").read_text()
        found = self.result(run)
        for key, value in (("kurtosis", 0.1), ("m3", 5.0), ("count", 59), ("maximum", 1e9)):
            wrong = json.loads(json.dumps(found))
            wrong["columns"][0][key] = value
            self.write("found.json", json.dumps(wrong))
            comparison = call([VENV_PYTHON, COMPARE, file, "found.json", "z.csv"], self.folder)
            self.assertEqual(comparison.returncode, 1, (key, comparison))
        self.write("found.json", json.dumps(found))
        self.write("z.csv", re.sub(r"(?m)^([-\d.]+),", r"0,", scores))
        self.assertEqual(call([VENV_PYTHON, COMPARE, file, "found.json", "z.csv"], self.folder).returncode, 1)


class Processes(NeedsLauncher):
    def test_agree_with_nodes_of_one_process(self):
        file = self.write("m.csv", measurements(200))
        one = self.result(self.run_nodes(file, "--json", "--deviations", "one.csv", fabric="local:3"))
        for method in METHODS:
            many = self.result(self.run_processes(3, file, "--json", "--deviations", "many.csv", "--method", method,
                                                  "--repeat", 2))
            self.assertEqual([many["nodes"], many["rows"]], [3, 200])
            self.assertEqual([column["histogram"] for column in many["columns"]],
                             [column["histogram"] for column in one["columns"]])
            self.assertEqual(len((self.folder / "many.csv").read_text().splitlines()), 201)

    def test_only_node_0_speaks(self):
        run = self.run_processes(3, self.write("small.csv", SMALL), "--method", "both", "--json")
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(run.stdout.count("statistics:"), 1)

    def test_one_node_says_for_all_what_is_wrong(self):
        for method in METHODS:
            run = self.run_processes(3, self.write("bad.csv", "a,b\n1,2\n3,4\n5,x\n"), "--method", method)
            self.assert_one_complains(run, "bad.csv:4")


if __name__ == "__main__":
    main()
