#!/usr/bin/env python3
"""What scripts/bench and scripts/bench-hosts have measured here, drawn like Fig. 9 to 12 of the Aspen paper ("Advanced
collective communication in Aspen") and Fig. 11 to 13 of the GASPI paper ("Efficient and eventually consistent
collective operations"): docs/figures/measured.svg, measured_by_ranks.svg and measured_concurrent_reduces.svg, and the
numbers as .md.

Reads out/bench/*.jsonl; where there is nothing to draw it says so and writes nothing. The numbers belong to that
machine and day.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from common import ROOT, arguments_of, size_text, table, write
from svg import BLUE, GREEN, INK, ORANGE, PINK, SKY, SOFT, YELLOW, Curve, Panel, chart

sys.path.insert(0, str(ROOT / "benchmarks"))
from compare import read_rows  # noqa: E402

PALETTE = (BLUE, SKY, GREEN, ORANGE, PINK, YELLOW, SOFT, INK)
BY_RANKS = (8, 64 << 10, 1 << 20)
CONDITIONS = "Collectives: input kept from call to call, Stretto in segment memory"

Part = tuple[int, float]  # what a panel's rows have in common: see Question.part_of
Values = dict[str, dict[int, float]]  # by who, and bytes or ranks


@dataclass(frozen=True)
class Question:
    """Panels and tables, of rows of one operation; `field` times `scale` is drawn: by bytes, a panel for each number of
    ranks, or by ranks, a panel for each of the sizes."""

    title: str
    operation: str
    field: str = "median_seconds"
    scale: float = 1e6
    unit: str = "microseconds"
    sizes: tuple[int, ...] = ()
    rivals_variant: str = ""  # of the rivals' variants, this one only

    def asks_for(self, row: dict) -> bool:
        return (row.get("operation") == self.operation and bool(who(row))
                and (not self.sizes or row["bytes"] in self.sizes)
                and (not self.rivals_variant or row["rival"] == "stretto" or row["variant"] == self.rivals_variant))

    def part_of(self, row: dict) -> Part:
        """Ranks or bytes, and the bits a second of the links between their hosts; 0: they share memory."""
        return row["bytes"] if self.sizes else row["ranks"], row.get("bits_per_second", 0)

    def x_of(self, row: dict) -> int:
        return row["ranks"] if self.sizes else row["bytes"]

    @property
    def x_label(self) -> str:
        return "ranks" if self.sizes else "bytes"

    def x_text(self, x: float) -> str:
        return f"{x:g}" if self.sizes else size_text(x)

    def title_of(self, part: Part) -> str:
        number, rate = part
        where = f"hosts, {rate / 1e6:g} Mbit/s" if rate else "ranks on one host"
        return f"{self.title}: {size_text(number)} bytes, {where}" if self.sizes else f"{self.title}: {number} {where}"


@dataclass(frozen=True)
class Sheet:
    """One picture and one document."""

    name: str
    title: str
    questions: tuple[Question, ...]


SHEETS = (
    Sheet("measured", "Measured: messages, all-reduces and all-to-alls beside MPI", (
        Question("Messages: half the round trip (Aspen, Fig. 9)", "ping_pong", "half_round_trip_seconds"),
        Question("Messages: bandwidth (Aspen, Fig. 11)", "ping_pong", "bytes_per_second", 1e-6, "MB/s"),
        Question("All-reduce (Aspen 10, GASPI 12)", "allreduce"),
        Question("All-to-all (GASPI, Fig. 13)", "all_to_all"),
    )),
    Sheet("measured_by_ranks", "Measured: all-reduces and all-to-alls by ranks, beside MPI", (
        Question("All-reduce (GASPI, Fig. 11)", "allreduce", sizes=BY_RANKS),
        Question("All-to-all", "all_to_all", sizes=BY_RANKS),
    )),
    Sheet("measured_concurrent_reduces", "Measured: two concurrent reduces (Aspen, Fig. 12) beside MPI", (
        Question("Beside MPI's blocking reduces", "concurrent_reduce", rivals_variant="blocking"),
        Question("Beside MPI's graph of messages", "concurrent_reduce", rivals_variant="message graph"),
    )),
)


def who(row: dict) -> str:
    """Whose row it is; empty for what is not drawn."""
    if row.get("input") == "rewritten":
        return ""
    if row["rival"] != "stretto":
        return row["rival"]
    fabric = row["fabric"].split(":")[0]
    if fabric == "sim" or (row.get("memory") == "user" and row["operation"] != "ping_pong"):
        return ""
    return " ".join(("stretto", fabric, row.get("variant", ""))).strip()


def values_by_part(rows: list[dict], question: Question) -> dict[Part, Values]:
    """The medians, where several rounds were measured."""
    rounds: dict[Part, dict[str, dict[int, list[float]]]] = {}
    for row in filter(question.asks_for, rows):
        of_part = rounds.setdefault(question.part_of(row), {})
        of_part.setdefault(who(row), {}).setdefault(question.x_of(row), []).append(question.scale * row[question.field])
    return {part: {name: {x: median(values) for x, values in by_x.items()} for name, by_x in of_part.items()}
            for part, of_part in rounds.items()}


def groups_of(rows: list[dict], question: Question) -> list[tuple[Question, Part, Values]]:
    """Of each part, on one host first, where somebody was measured at two places of the axis: a line needs as many."""
    groups = [(question, part, values) for part, values in values_by_part(rows, question).items()
              if any(len(by_x) > 1 for by_x in values.values())]
    return sorted(groups, key=lambda group: (group[1][1] > 0, group[1]))


def is_ours(name: str) -> bool:
    return name.startswith("stretto")


def colours_of(groups: list[tuple[Question, Part, Values]]) -> dict[str, str]:
    """By who, in the order of the legends: the same in all panels. Stretto's lines are solid, those of others dashed."""
    names = sorted({name for _, _, values in groups for name in values}, key=lambda name: (not is_ours(name), name))
    of_ours = [name for name in names if is_ours(name)]
    return {name: PALETTE[(i if is_ours(name) else i - len(of_ours)) % len(PALETTE)] for i, name in enumerate(names)}


def panel(question: Question, part: Part, values: Values, colours: dict[str, str]) -> Panel:
    curves = [Curve(name, sorted(values[name].items()), colour, dashed=not is_ours(name))
              for name, colour in colours.items() if name in values]
    return Panel(question.title_of(part), curves, question.unit, x_label=question.x_label, y_logarithmic=True,
                 x_text=question.x_text)


def numbers(question: Question, part: Part, values: Values) -> str:
    xs = sorted({x for by_x in values.values() for x in by_x})
    rows = [[name, *(f"{by_x[x]:,.4g}" if x in by_x else "" for x in xs)] for name, by_x in values.items()]
    head = [question.x_label, *map(question.x_text, xs)]
    return f"## {question.title_of(part)}, {question.unit}\n\n{table(head, rows)}"


def machines_of(rows: list[dict]) -> str:
    return "; ".join(sorted({f"{row['model']}, {row['cores']} cores" for row in rows if row["operation"] == "machine"}))


def draw(sheet: Sheet, rows: list[dict], output: Path) -> bool:
    """Whether there was anything to draw."""
    found = [each for question in sheet.questions for each in groups_of(rows, question)]
    if not found:
        return False
    machines = machines_of(rows)
    document = (f"# {sheet.title}\n\nWritten by `figures/measured.py` (`make figures`) from what `scripts/bench` and\n"
                f"`scripts/bench-hosts` measured on {machines}.\n{CONDITIONS}.\n\n![The same as a picture]({sheet.name}.svg)\n\n"
                + "\n".join(numbers(*each) for each in found))
    colours = colours_of(found)
    panels = [panel(*each, colours) for each in found]
    write(output, sheet.name, chart(sheet.title, [f"{machines}. {CONDITIONS}."], panels, columns=3), document)
    return True


def main() -> None:
    arguments = arguments_of(__doc__, ())
    rows = [row for row in read_rows(sorted((ROOT / "out/bench").glob("*.jsonl"))) if "operation" in row]
    if not any([draw(sheet, rows, arguments.output) for sheet in SHEETS]):
        print("out/bench has no measurements to draw; scripts/bench and scripts/bench-hosts make them")


if __name__ == "__main__":
    main()
