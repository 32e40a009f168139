"""What the tests of programs share, which meet them as their users do: command line, files, exit status, output.

Each is called as PROGRAM_test.py PROGRAM STRETTO [unittest arguments]; STRETTO, the launcher, is empty where there is
none.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VENV_PYTHON = REPOSITORY / ".venv" / "bin" / "python"
NODE_COUNTS = (1, 2, 3, 7, 16)


def call(command, folder, **settings):
    return call_into(subprocess.PIPE, command, folder, **settings)


def call_into(out, command, folder, **settings):
    """`out` gets what it prints."""
    announcing = ("STRETTO_", "PMI", "OMPI_", "SLURM_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(announcing)}
    return subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder,
                          env={**environment, **settings}, stdin=subprocess.DEVNULL)


class InFolder(unittest.TestCase):
    """Runs the program in a folder that is gone after the test."""

    program = launcher = ""  # set by main()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_nodes(self, *arguments, fabric="local:2"):
        return call([self.program, *arguments], self.folder, STRETTO_FABRIC=fabric)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text.encode())
        return path

    def result(self, run, code=0):
        """The JSON object on the last line."""
        self.assertEqual(run.returncode, code, run)
        return json.loads(run.stdout.splitlines()[-1])

    def assert_refused(self, run, because, code=1):
        """The status, and one line on standard error, in which the regular expression is found."""
        self.assertEqual(run.returncode, code, run)
        self.assertRegex(run.stderr, rf"\A{Path(self.program).name}: [^\n]*{because}[^\n]*\n\Z")


class NeedsPython(InFolder):
    """Compares with what the Python of .venv finds, if it has the package."""

    package = "scipy"

    def setUp(self):
        super().setUp()
        self.require(self.package)

    def require(self, package):
        if not VENV_PYTHON.exists() or call([VENV_PYTHON, "-c", f"import {package}"], self.folder).returncode != 0:
            self.skipTest(f"{package} is not there: make setup installs it into .venv")


class NeedsLauncher(InFolder):
    """Runs the program as processes of one job, which stretto run starts."""

    def setUp(self):
        super().setUp()
        if not self.launcher:
            self.skipTest("the command stretto was not built")

    def run_processes(self, count, *arguments, options=()):
        """`options` are the launcher's."""
        return call([self.launcher, "run", "-n", count, *options, self.program, *arguments], self.folder)

    def assert_one_complains(self, run, because):
        """Status 1, and one process says for all what is wrong."""
        self.assertEqual(run.returncode, 1, run)
        complaints = [line for line in run.stderr.splitlines() if line.startswith(f"{Path(self.program).name}:")]
        self.assertEqual(len(complaints), 1, run)
        self.assertIn(because, complaints[0])


def main():
    InFolder.program, InFolder.launcher = (os.path.abspath(path) if path else "" for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
