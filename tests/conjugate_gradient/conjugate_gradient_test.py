#!/usr/bin/env python3
"""The program conjugate_gradient as its users meet it: command line, files, exit status, output.

See program_case.py for how it is called.
"""

import re
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program_case import NODE_COUNTS, REPOSITORY, VENV_PYTHON, InFolder, NeedsLauncher, NeedsPython, call, main

METHODS = ("classic", "pipelined")
REQUIRED_KEYS = ("converged", "iterations", "relative_residual", "nodes", "seconds", "seconds_per_iteration",
                 "reduction_share")
HEADER = "%%MatrixMarket matrix coordinate real symmetric\n"


def coordinates(rows, entries):
    lines = [f"{row} {column} {value:.17g}\n" for row, column, value in entries]
    return HEADER + f"{rows} {rows} {len(lines)}\n" + "".join(lines)


def beam(rows):
    """The lower triangle of a tridiagonal matrix whose values do not repeat; well conditioned."""
    entries = []
    for i in range(1, rows + 1):
        entries.append((i, i, 3 + 1 / i))
        if i < rows:
            entries.append((i + 1, i, -1 + 0.5 / i))
    return entries


def times(entries, x):
    product = [0.0] * len(x)
    for row, column, value in entries:
        product[row - 1] += value * x[column - 1]
        if row != column:
            product[column - 1] += value * x[row - 1]
    return product


def read_array(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    return lines[0], [float(line) for line in lines[1:]]


class Results(InFolder):
    def test_json_is_the_last_line(self):
        for method in METHODS:
            found = self.result(self.run_nodes("--poisson", 8, 8, 8, "--method", method, "--json", fabric="local:3"))
            for key in REQUIRED_KEYS:
                self.assertIn(key, found)
            self.assertIs(found["converged"], True)
            self.assertEqual(found["nodes"], 3)
            self.assertEqual(found["method"], method)
            self.assertLessEqual(found["relative_residual"], 1e-8)
            self.assertAlmostEqual(found["seconds_per_iteration"] * found["iterations"], found["seconds"])

    def test_output_says_what_is_solved_where_and_how_it_went(self):
        run = self.run_nodes("--poisson", 8, 8, 8, fabric="local:3")
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout.count("poisson 8 x 8 x 8"), 1, "said once")
        for part in ("512 rows", "3 nodes on local", "iterations", "true residual", "converged"):
            self.assertIn(part, run.stdout)

    def test_both_methods_side_by_side(self):
        run = self.run_nodes("--poisson", 8, 8, 8, "--method", "classic", "--compare", "--json", "--plot", "both.svg")
        found = self.result(run)
        self.assertEqual([found["method"], found["compared"][0]["method"]], ["classic", "pipelined"])
        self.assertRegex(run.stdout, r"(?m)^classic .*\npipelined ")
        picture = (self.folder / "both.svg").read_text()
        self.assertEqual(picture.count("<polyline"), 2)

    def test_solution_reads_back(self):
        entries = beam(100)
        matrix = self.write("a.mtx", coordinates(100, entries))
        expected = [1 + i / 7 for i in range(100)]
        values = "".join(f"{value:.17g}\n" for value in times(entries, expected))
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n100 1\n" + values)
        for method in METHODS:
            for nodes in NODE_COUNTS:
                run = self.run_nodes(matrix, "--rhs", "b.mtx", "--solution", "x.mtx", "--tolerance", 1e-12, "--method",
                                     method, fabric=f"local:{nodes}")
                self.assertEqual(run.returncode, 0, run)
                size, solution = read_array(self.folder / "x.mtx")
                self.assertEqual(size, "100 1")
                self.assertLess(max(abs(a - b) for a, b in zip(solution, expected, strict=True)), 1e-9)
        # The program reads what it wrote: it is a right-hand side, too.
        self.assertEqual(self.run_nodes(matrix, "--rhs", "x.mtx").returncode, 0)

    def test_default_right_hand_side_is_ones(self):
        entries = beam(20)
        run = self.run_nodes(self.write("a.mtx", coordinates(20, entries)), "--solution", "x.mtx", "--tolerance", 1e-12)
        self.assertEqual(run.returncode, 0, run)
        for value in times(entries, read_array(self.folder / "x.mtx")[1]):
            self.assertAlmostEqual(value, 1, places=9)

    def test_history_has_a_line_for_each_iteration(self):
        found = self.result(self.run_nodes("--poisson", 8, 8, 8, "--history", "h.txt", "--json"))
        history = [float(line) for line in (self.folder / "h.txt").read_text().splitlines()]
        self.assertEqual(len(history), found["iterations"] + 1)
        self.assertEqual(history[0], 1)
        self.assertEqual(history[-1], found["relative_residual"])

    def test_not_converged_is_status_3(self):
        for method in METHODS:
            run = self.run_nodes("--poisson", 8, 8, 8, "--max-iterations", 3, "--method", method, "--json")
            found = self.result(run, code=3)
            self.assertIs(found["converged"], False)
            self.assertEqual(found["iterations"], 3)
            self.assertIn("NOT CONVERGED", run.stdout)

    def test_help(self):
        run = self.run_nodes("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("Examples:", run.stdout)

    def test_simulated_and_real_nodes_agree(self):
        arguments = ("--poisson", 10, 10, 10, "--json")
        real = self.result(self.run_nodes(*arguments, fabric="local:7"))
        simulated = self.result(self.run_nodes(*arguments, fabric="sim:7,latency=50us,seed=3"))
        self.assertLessEqual(abs(real["iterations"] - simulated["iterations"]), 1)


class Refusals(InFolder):
    """Whatever is wrong gives one clear line on standard error, a status, and no result."""

    def refused(self, *arguments, because, fabric="local:3", code=1):
        for method in METHODS:
            run = self.run_nodes(*arguments, "--method", method, "--json", fabric=fabric)
            self.assert_refused(run, because, code)
            self.assertNotIn('"converged"', run.stdout)

    def refused_file(self, text, because, *arguments):
        self.refused(self.write("bad.mtx", text), *arguments, because=because)

    def test_missing(self):
        self.refused("none.mtx", because="none.mtx")

    def test_a_folder_is_no_file(self):
        self.refused(".", because="")

    def test_not_matrix_market(self):
        self.refused_file("", "bad.mtx")
        self.refused_file("1 1 1\n1 1 1\n", "bad.mtx:1")
        self.refused_file("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "complex")

    def test_truncated(self):
        self.refused_file(HEADER + "3 3 4\n1 1 1\n2 2 1\n", "bad.mtx.*4")
        self.refused_file(HEADER + "3 3\n", "bad.mtx:2")
        self.refused_file(HEADER + "1 1 1\n1      1 \n", "bad.mtx:3")

    def test_wrong_counts(self):
        self.refused_file(coordinates(2, beam(2)) + "2 2 1\n", "bad.mtx:6")
        self.refused_file(HEADER + "2 2 99999999999999\n1 1 1\n2 2 1\n", "bad.mtx")

    def test_out_of_range(self):
        for row, column in ((2, 1), (0, 1), (-1, 1), (1, 99999999999999999999)):
            self.refused_file(HEADER + f"1 1 1\n{row} {column} 1\n", "bad.mtx:3")

    def test_not_numbers(self):
        self.refused_file(HEADER + "1 1 1\n1 1 one\n", "bad.mtx:3.*one")
        self.refused_file(HEADER + "1 1 1\n1 1 nan\n", "bad.mtx:3")

    def test_not_square(self):
        self.refused_file("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "not square")

    def test_not_symmetric(self):
        general = "%%MatrixMarket matrix coordinate real general\n"
        self.refused_file(general + "2 2 4\n1 1 3\n2 2 3\n1 2 1\n2 1 1.5\n", "not symmetric")
        self.refused_file(general + "2 2 3\n1 1 3\n2 2 3\n1 2 1\n", "not symmetric")

    def test_not_positive_definite(self):
        self.refused_file(coordinates(2, [(1, 1, 1), (2, 2, -1)]), "positive")
        self.refused_file(coordinates(2, [(1, 1, 1)]), "positive")

    def test_not_positive_definite_found_during_the_solve(self):
        text = coordinates(50, [(i, i, 1) for i in range(1, 51)] + [(i + 1, i, -1) for i in range(1, 50)])
        for fabric in ("local:1", "local:3", "local:16", "sim:3"):
            self.refused(self.write("bad.mtx", text), because="not positive definite", fabric=fabric)

    def test_bad_right_hand_sides(self):
        matrix = self.write("a.mtx", coordinates(3, beam(3)))
        self.write("short.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n")
        self.write("wide.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n1\n1\n1\n1\n1\n")
        self.refused(matrix, "--rhs", "short.mtx", because="short.mtx")
        self.refused(matrix, "--rhs", "wide.mtx", because="wide.mtx")
        self.refused(matrix, "--rhs", "none.mtx", because="none.mtx")

    def test_files_that_cannot_be_written_are_refused_before_the_work(self):
        for option in ("--solution", "--history", "--plot"):
            self.refused("--poisson", 4, 4, 4, option, "none/x", because="none/x cannot be written")

    def test_results_overwrite_neither_what_is_read_nor_each_other(self):
        matrix = coordinates(3, beam(3))
        self.write("a.mtx", matrix)
        rhs = "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n"
        self.write("b.mtx", rhs)
        for option in ("--solution", "--history", "--plot"):
            self.refused("a.mtx", option, "./a.mtx", because=f"{option} would overwrite ./a.mtx, which is the matrix")
            self.refused("a.mtx", "--rhs", "b.mtx", option, "b.mtx", because=f"{option} would .* which is --rhs")
        self.refused("a.mtx", "--solution", "x", "--history", "x", because="--history would .* which is --solution")
        self.refused("a.mtx", "--history", "x", "--plot", "x", because="--plot would .* which is --history")
        self.assertEqual([(self.folder / name).read_text() for name in ("a.mtx", "b.mtx")], [matrix, rhs])
        self.assertFalse((self.folder / "x").exists())

    def test_bad_command_lines(self):
        self.refused(because="name a matrix file", code=2)
        self.refused("--poisson", 4, 4, because="", code=2)
        self.refused("--poisson", 100000, 100000, 100000, because="smaller than 2\\^32 points", code=2)
        self.refused("--poisson", 4, 4, 4, "--tolerance", -1, because="--tolerance", code=2)
        self.refused("--poisson", 4, 4, 4, "--toleranse", 1, because="--toleranse", code=2)

    def test_bad_settings(self):
        self.refused("--poisson", 4, 4, 4, because="STRETTO_FABRIC", fabric="loca:3")
        self.refused("--poisson", 4, 4, 4, because="laten", fabric="sim:3,laten=1us")

    def test_a_node_that_dies(self):
        self.refused("--poisson", 6, 6, 12, because="peer_lost", fabric="sim:4,kill=2#60")


class Guide(InFolder):
    """Every command of docs/guide/solve_a_sparse_system.md that starts the program does what the guide says."""

    def test_commands(self):
        text = (REPOSITORY / "docs" / "guide" / "solve_a_sparse_system.md").read_text()
        commands = re.findall(r"(?m)^    ((?:STRETTO_\w+=\S+ )?(?:build/release/bin/stretto run \S+ \d+ )?"
                              r"build/release/bin/conjugate_gradient .*)$", text)
        self.assertGreaterEqual(len(commands), 6)
        self.write("matrix.mtx", coordinates(200, beam(200)))
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n200 1\n" + "2\n" * 200)
        for command in commands:
            if " run " in command and not self.launcher:
                continue
            line = command.replace("build/release/bin/conjugate_gradient", shlex.quote(self.program))
            line = line.replace("build/release/bin/stretto", shlex.quote(self.launcher or "none"))
            line = line.replace("64 64 64", "16 16 16")
            run = call(["bash", "-c", line], self.folder)
            self.assertEqual(run.returncode, 0, (command, run))
            for written in re.findall(r"[\w.]+\.(?:svg|mtx)", command):
                self.assertTrue((self.folder / written).exists(), command)


class Scipy(NeedsPython):
    """Against SciPy's direct solution."""

    def compare(self, matrix, *arguments):
        for method in METHODS:
            for nodes in NODE_COUNTS:
                run = self.run_nodes(matrix, *arguments, "--solution", "x.mtx", "--method", method,
                                     fabric=f"local:{nodes}")
                self.assertEqual(run.returncode, 0, run)
                comparison = call([VENV_PYTHON, REPOSITORY / "tools" / "compare_with_scipy.py", matrix, "x.mtx",
                                   *arguments], self.folder)
                self.assertEqual(comparison.returncode, 0, (method, nodes, comparison))

    def test_a_small_system(self):
        self.compare(self.write("a.mtx", coordinates(300, beam(300))))

    def test_with_a_right_hand_side(self):
        values = "".join(f"{(i * 37 % 11) - 5}\n" for i in range(300))
        self.write("b.mtx", "%%MatrixMarket matrix array integer general\n300 1\n" + values)
        self.compare(self.write("a.mtx", coordinates(300, beam(300))), "--rhs", "b.mtx")

    def test_bar(self):
        self.require("pyamg")  # brings the example
        export = call([VENV_PYTHON, REPOSITORY / "tools" / "export_bar.py", "bar.mtx"], self.folder)
        self.assertEqual(export.returncode, 0, export)
        self.compare("bar.mtx")


class Processes(NeedsLauncher):
    def test_agree_with_nodes_of_one_process(self):
        arguments = ("--poisson", 12, 12, 12, "--json", "--solution", "x.mtx")
        for method in METHODS:
            one = self.result(self.run_nodes(*arguments, "--method", method, fabric="local:3"))
            solution = read_array(self.folder / "x.mtx")[1]
            many = self.result(self.run_processes(3, *arguments, "--method", method))
            self.assertEqual(many["nodes"], 3)
            self.assertLessEqual(many["relative_residual"], 1e-8)
            self.assertLessEqual(abs(one["iterations"] - many["iterations"]), 1)
            apart = max(abs(a - b) for a, b in zip(solution, read_array(self.folder / "x.mtx")[1], strict=True))
            self.assertLess(apart, 1e-6)

    def test_only_node_0_speaks(self):
        run = self.run_processes(3, "--poisson", 8, 8, 8, "--compare")
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(run.stdout.count("poisson"), 1)
        self.assertEqual(len(re.findall(r"(?m)^pipelined ", run.stdout)), 1)

    def test_not_converged_is_status_3(self):
        self.assertEqual(self.run_processes(2, "--poisson", 8, 8, 8, "--max-iterations", 2).returncode, 3)

    def test_not_positive_definite(self):
        text = coordinates(50, [(i, i, 1) for i in range(1, 51)] + [(i + 1, i, -1) for i in range(1, 50)])
        for method in METHODS:
            run = self.run_processes(3, self.write("bad.mtx", text), "--method", method)
            self.assert_one_complains(run, "not positive definite")

    def test_all_end_by_themselves_where_results_cannot_be_written(self):
        for option in ("--solution", "--history", "--plot"):
            run = self.run_processes(2, "--poisson", 4, 4, 4, option, "none/x", options=["--keep-going"])
            self.assert_one_complains(run, "none/x cannot be written")


if __name__ == "__main__":
    main()
