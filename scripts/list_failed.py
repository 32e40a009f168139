#!/usr/bin/env python3
"""Lists the tests that failed, each with the end of what it printed: list_failed.py RESULTS.xml... (JUnit files of ctest)."""

import sys
import xml.etree.ElementTree as xml_tree
from pathlib import Path

LINES = 12
COLUMNS = 240


def end_of(case):
    """The last lines that say something, cut where they are long."""
    lines = [line.rstrip() for line in (case.findtext("system-out") or "").splitlines()]
    return [line[:COLUMNS] for line in lines if line][-LINES:]


def main(paths):
    for path in map(Path, paths):
        for case in xml_tree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is None and case.find("error") is None:
                continue
            print(f"Failed test: {path.parent.name}: {case.get('name')}")
            for line in end_of(case):
                print(f"    {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
