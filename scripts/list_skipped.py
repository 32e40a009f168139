#!/usr/bin/env python3
"""Lists the tests that were skipped, with their reasons: list_skipped.py RESULTS.xml... (JUnit files of ctest)."""

import sys
import xml.etree.ElementTree as xml_tree
from pathlib import Path

NOISE = ("[", "Running main()", "Note: Google Test filter")


def reason_of(case):
    """The first lines that the test printed itself; GoogleTest prints a skip's reason after its file and line."""
    output = case.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines()]
    own = [line for line in lines if line and not line.startswith(NOISE) and not line.endswith(": Skipped")]
    return " ".join(own[:2]) or "no reason given"


def main(paths):
    total = 0
    skipped = []
    for path in map(Path, paths):
        run = path.parent.name
        cases = list(xml_tree.parse(path).getroot().iter("testcase"))
        total += len(cases)
        skipped += [(run, case.get("name"), reason_of(case)) for case in cases if case.find("skipped") is not None]
    print(f"Skipped tests: {len(skipped)} of {total}")
    for run, name, reason in skipped:
        print(f"  {run}: {name}: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
