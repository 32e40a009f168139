"""Stretto as other projects use it: installed, and as a folder of theirs.

Called as: install_test.py CMAKE GENERATOR COMPILER SOURCES BUILD [unittest arguments].
"""

import os
import subprocess
import sys
import tempfile
import unittest

CMAKE = GENERATOR = COMPILER = SOURCES = BUILD = ""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = os.path.join(folder.name, "prefix")
        self.build = os.path.join(folder.name, "build")

    def call(self, *command):
        announcing = ("STRETTO_", "PMI", "OMPI_", "SLURM_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(announcing)}
        result = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, " ".join(command) + "\n" + result.stdout + result.stderr)
        return result.stdout

    def configure(self, **settings):
        program = os.path.join(SOURCES, "examples", "first_steps", "main.cc")
        settings = {"CMAKE_CXX_COMPILER": COMPILER, "CONSUMER_SOURCE": program, **settings}
        self.call(CMAKE, "-G", GENERATOR, "-S", os.path.join(SOURCES, "tests", "install", "consumer"), "-B", self.build,
                  *(f"-D{name}={value}" for name, value in settings.items()))


class Package(Case):
    def test_a_program_is_built_with_it_and_run_by_it(self):
        self.call(CMAKE, "--install", BUILD, "--prefix", self.prefix)
        self.configure(CMAKE_PREFIX_PATH=self.prefix)
        self.call(CMAKE, "--build", self.build)
        launcher = os.path.join(self.prefix, "bin", "stretto")
        lines = self.call(launcher, "run", "-n", "2", os.path.join(self.build, "consumer")).splitlines()
        self.assertEqual(sorted(lines), ["node 0: 3", "node 1: 3"])

    def test_what_is_for_tests_stays_here(self):
        self.call(CMAKE, "--install", BUILD, "--prefix", self.prefix)
        installed = [name for _, _, names in os.walk(self.prefix) for name in names]
        self.assertIn("collective.h", installed)
        self.assertNotIn("test_support.h", installed)


class Subproject(Case):
    def test_it_brings_neither_tests_nor_programs_nor_warnings(self):
        self.configure(STRETTO_SOURCE=SOURCES, CMAKE_EXPORT_COMPILE_COMMANDS="ON")
        targets = self.call(CMAKE, "--build", self.build, "--target", "help")
        self.assertIn("stretto_collective", targets)
        self.assertNotIn("first_steps", targets)
        self.assertNotIn("_test", targets)
        with open(os.path.join(self.build, "compile_commands.json")) as file:
            of_consumer = [line for line in file if "first_steps" in line and "command" in line]
        self.assertEqual(len(of_consumer), 1)
        self.assertNotIn("-Werror", of_consumer[0])


if __name__ == "__main__":
    CMAKE, GENERATOR, COMPILER, SOURCES, BUILD = sys.argv[1:6]
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
