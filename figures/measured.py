#!/usr/bin/env python3
"""What scripts/bench and scripts/bench-hosts have measured here, drawn like Fig. 9 to 11 of the Aspen paper ("Advanced
collective communication in Aspen"): docs/figures/measured.svg, and the numbers as measured.md.

Reads out/bench/*.jsonl; where there is nothing to draw it says so and writes nothing. The numbers belong to that machine
and day.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from common import ROOT, arguments_of, size_text, table, write
from svg import BLUE, GREEN, INK, ORANGE, PINK, SKY, SOFT, YELLOW, Curve, Panel, chart

PALETTE = (BLUE, SKY, GREEN, ORANGE, PINK, YELLOW, SOFT, INK)


@dataclass(frozen=True)
class Question:
    """One panel and one table, of rows of one operation; `field` times `scale` is drawn."""

    title: str
    operation: str
    field: str
    scale: float
    unit: str


QUESTIONS = (
    Question("Messages: half the round trip (Fig. 9)", "ping_pong", "half_round_trip_seconds", 1e6, "microseconds"),
    Question("Messages: bandwidth (Fig. 11)", "ping_pong", "bytes_per_second", 1e-6, "MB/s"),
    Question("All-reduce (Fig. 10)", "allreduce", "median_seconds", 1e6, "microseconds"),
)

Values = dict[str, dict[int, float]]  # by who and bytes


def read_rows(folder: Path) -> list[dict]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def place_of(row: dict) -> tuple[int, float]:
    """Ranks, and the bits a second of the links between their hosts; 0: they share memory."""
    return row["ranks"], row.get("bits_per_second", 0)


def words_of(place: tuple[int, float]) -> str:
    ranks, rate = place
    return f"{ranks} hosts, {rate / 1e6:g} Mbit/s" if rate else f"{ranks} ranks on one host"


def who(row: dict) -> str:
    """Whose row it is; empty for what is not drawn."""
    if row.get("input") == "rewritten":
        return ""
    if row["rival"] != "stretto":
        return row["rival"]
    if row.get("memory") == "user" and row["operation"] != "ping_pong":
        return ""
    return " ".join(("stretto", row["fabric"].split(":")[0], row.get("variant", ""))).strip()


def values_of(rows: list[dict], question: Question, place: tuple[int, float]) -> Values:
    """The medians, where several rounds were measured."""
    rounds: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if row.get("operation") == question.operation and place_of(row) == place and who(row):
            rounds.setdefault(who(row), {}).setdefault(row["bytes"], []).append(question.scale * row[question.field])
    return {name: {size: median(values) for size, values in by_size.items()} for name, by_size in rounds.items()}


def groups_of(rows: list[dict], question: Question) -> list[tuple[Question, tuple[int, float], Values]]:
    """Of each place, on one host first, where somebody was measured at two sizes: a line needs as many."""
    places = {place_of(row) for row in rows if row["operation"] == question.operation}
    groups = [(question, place, values_of(rows, question, place)) for place in places]
    drawn = [group for group in groups if any(len(by_size) > 1 for by_size in group[2].values())]
    return sorted(drawn, key=lambda group: (group[1][1] > 0, group[1]))


def panel(question: Question, place: tuple[int, float], values: Values) -> Panel:
    curves = [Curve(name, sorted(by_size.items()), PALETTE[i % len(PALETTE)], dashed=not name.startswith("stretto"))
              for i, (name, by_size) in enumerate(values.items())]
    return Panel(f"{question.title}: {words_of(place)}", curves, question.unit, x_label="bytes", y_logarithmic=True,
                 x_text=size_text)


def numbers(question: Question, place: tuple[int, float], values: Values) -> str:
    sizes = sorted({size for by_size in values.values() for size in by_size})
    rows = [[name, *(f"{by_size[size]:,.4g}" if size in by_size else "" for size in sizes)]
            for name, by_size in values.items()]
    return f"## {question.title}: {words_of(place)}, {question.unit}\n\n{table(['bytes', *map(size_text, sizes)], rows)}"


def machines_of(rows: list[dict]) -> str:
    return "; ".join(sorted({f"{row['model']}, {row['cores']} cores" for row in rows if row["operation"] == "machine"}))


def main() -> None:
    arguments = arguments_of(__doc__, ())
    rows = [row for row in read_rows(ROOT / "out/bench") if "operation" in row]
    found = [each for question in QUESTIONS for each in groups_of(rows, question)]
    if not found:
        print("out/bench has no measurements to draw; scripts/bench and scripts/bench-hosts make them")
        return
    picture = chart("Measured: messages and all-reduces beside MPI", [machines_of(rows)],
                    [panel(*each) for each in found], columns=3)
    document = (f"# Measured: messages and all-reduces beside MPI\n\nWritten by `figures/measured.py` (`make figures`) from "
                f"what `scripts/bench` and\n`scripts/bench-hosts` measured on {machines_of(rows)}.\n\n"
                f"![Times and bandwidths by bytes](measured.svg)\n\n" + "\n".join(numbers(*each) for each in found))
    write(arguments.output, "measured", picture, document)


if __name__ == "__main__":
    main()
