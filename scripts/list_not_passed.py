#!/usr/bin/env python3
"""Lists the tests that were skipped, with their reasons, and those that failed, with the end of what they printed:
list_not_passed.py RESULTS.xml... (JUnit files of ctest)."""

import re
import sys
import xml.etree.ElementTree as xml_tree
from pathlib import Path

NOISE = ("[", "Running main()", "Note: Google Test filter")
LINES = 12
COLUMNS = 240


def lines_of(case):
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    return [line for line in lines if line]


def reason_of(case):
    """What unittest says of the tests that it skipped; else the first lines that the test printed itself: GoogleTest
    prints a skip's reason after its file and line."""
    skipped = dict.fromkeys(re.findall(r"""(?m)^.*\bskipped (['"])(.*)\1$""", "\n".join(lines_of(case))))
    if skipped:
        return "; ".join(reason for _, reason in skipped)
    own = [line for line in lines_of(case) if not line.startswith(NOISE) and not line.endswith(": Skipped")]
    return " ".join(own[:2]) or "no reason given"


def main(paths):
    cases = [(path.parent.name, case) for path in map(Path, paths)
             for case in xml_tree.parse(path).getroot().iter("testcase")]
    skipped = [(run, case) for run, case in cases if case.find("skipped") is not None]
    failed = [(run, case) for run, case in cases if case.find("failure") is not None or case.find("error") is not None]
    print(f"Skipped tests: {len(skipped)} of {len(cases)}")
    for run, case in skipped:
        print(f"  {run}: {case.get('name')}: {reason_of(case)}")
    for run, case in failed:
        print(f"Failed test: {run}: {case.get('name')}")
        for line in lines_of(case)[-LINES:]:
            print(f"    {line[:COLUMNS]}")


if __name__ == "__main__":
    main(sys.argv[1:])
