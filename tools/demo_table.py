#!/usr/bin/env python3
"""Prints what conjugate_gradient --json said as one table: demo_table.py SYSTEM@PLACE.json..."""

import json
import sys
from pathlib import Path

COLUMNS = ("system", "rows", "where", "method", "iterations", "true residual", "time/iteration", "in reductions",
           "result")
LEFT_ALIGNED = ("system", "where", "method", "result")


def duration(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def rows_of(path):
    """A row for each method that the file's run solved by."""
    system, place = path.stem.rsplit("@", 1)
    result = json.loads(path.read_text(encoding="utf-8"))
    for solve in (result, *result.get("compared", [])):
        yield (system, f"{solve['rows']:,}", place.replace("_", " "), solve["method"], f"{solve['iterations']:,}",
               f"{solve['relative_residual']:.2e}", duration(solve["seconds_per_iteration"]),
               f"{solve['reduction_share']:.1%}", "converged" if solve["converged"] else "NOT CONVERGED")


def table(rows):
    rows = [COLUMNS, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        cells = [cell.ljust(width) if column in LEFT_ALIGNED else cell.rjust(width)
                 for column, cell, width in zip(COLUMNS, row, widths)]
        yield "  ".join(cells).rstrip()


def main(paths):
    rows = [row for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns) for row in rows_of(path)]
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
