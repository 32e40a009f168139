#!/usr/bin/env python3
"""Collectives by nodes and by size on a simulated machine, beside what LogGP predicts up to 16,384 nodes:
docs/figures/collectives_by_nodes.svg, and the numbers as collectives_by_nodes.md. After Fig. 10 of the Aspen paper
("Advanced collective communication in Aspen") and Fig. 11 to 13 of the GASPI paper ("Efficient and eventually
consistent collective operations").

Needs nothing but Python and the built programs; where memory does not do for the most nodes, these are predicted only.
The machine is simulated: every run gives the same files.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common import (BANDWIDTH, GAP, LATENCY, MACHINE, OVERHEAD, SIMULATED, arguments_of, predicted, run_rows, size_text,
                    table, write)
from svg import BLUE, GREEN, ORANGE, PINK, Curve, Panel, chart

CHOSEN = ""  # the cheapest schedule, as the runtime chooses it
ALL_REDUCES = ("recursive_doubling", "rabenseifner", "ring_allreduce")
ALL_TO_ALLS = ("linear_all_to_all", "pairwise_all_to_all", "bruck_all_to_all")
COLOURS = dict(zip(ALL_REDUCES, (GREEN, ORANGE, BLUE))) | dict(zip(ALL_TO_ALLS, (ORANGE, BLUE, GREEN))) | {CHOSEN: PINK}
# Stands beside what the runtime chooses for 8 bytes.
PREDICTED_FOR_CHOSEN = "four_way_doubling"

PREDICTED_NODES = tuple(2**power for power in range(1, 15))
# On how many nodes the whole runtime runs, in a few minutes in all; each number is a job of some 40 calls and barriers.
# Limits are, for 8 bytes, memory (and 85 seconds for 16,384 nodes); for 64 KiB and 1 KiB the messages of rings and
# all-to-alls, as many as the square of the nodes; for 8 MiB the bytes that are copied.
SMALL_NODES = PREDICTED_NODES
MEDIUM_NODES = tuple(2**power for power in range(1, 10))
LARGE_NODES = tuple(2**power for power in range(1, 7))
# Every node knows of every other: with what it has beside, 9.7 GB for 16,384 nodes.
BYTES_OF_A_PAIR = 40
# For that many a segment has to be one mapping, which one of 2 MiB is not: Linux has 65,530 for a process.
SEGMENT_OF_8_BYTES = "1MiB"
VECTORS = tuple(1 << power for power in range(13, 24, 2))
BLOCKS = tuple(1 << power for power in range(3, 16, 2))
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Question:
    """One panel and one table: an operation by its algorithms, over nodes or over sizes."""

    title: str
    operation: str
    algorithms: tuple[str, ...]
    nodes: tuple[int, ...]  # measured
    sizes: tuple[int, ...]
    predicted_nodes: tuple[int, ...]

    @property
    def by_nodes(self) -> bool:
        return len(self.sizes) == 1

    def x(self, nodes: int, size: int) -> int:
        return nodes if self.by_nodes else size


QUESTIONS = (
    Question("All-reduce of 8 bytes (Aspen, Fig. 10)", "allreduce", (CHOSEN,), SMALL_NODES, (8,), PREDICTED_NODES),
    Question("All-reduce of 64 KiB (GASPI, Fig. 11 left)", "allreduce", ALL_REDUCES, MEDIUM_NODES, (64 * KIB,),
             PREDICTED_NODES),
    Question("All-reduce of 8 MiB (GASPI, Fig. 11 right)", "allreduce", ALL_REDUCES, LARGE_NODES, (8 * MIB,),
             PREDICTED_NODES),
    Question("All-reduce on 32 nodes, by size (GASPI, Fig. 12)", "allreduce", ALL_REDUCES, (32,), VECTORS, (32,)),
    Question("All-to-all on 16 nodes, by block (GASPI, Fig. 13)", "all_to_all", ALL_TO_ALLS, (16,), BLOCKS, (16,)),
    # Without pairwise, whose 268 million messages on 16,384 nodes are walked one by one.
    Question("All-to-all, blocks of 1 KiB", "all_to_all", ("linear_all_to_all", "bruck_all_to_all"), MEDIUM_NODES,
             (KIB,), PREDICTED_NODES),
)

Times = dict[tuple[str, int], float]  # by algorithm and nodes or size, in microseconds


def that_fit(nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Those that this machine has the memory for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return tuple(n for n in nodes if BYTES_OF_A_PAIR * n**2 < 0.7 * memory)


def measure(programs: Path, question: Question, algorithm: str, nodes: int) -> Times:
    command = [str(programs / "collective_bench"), "--operations", question.operation, "--sizes",
               ",".join(map(str, question.sizes)), "--seconds", "1e-9"]
    settings = {"STRETTO_SEGMENT_BYTES": SEGMENT_OF_8_BYTES} if question.sizes == (8,) else {}
    rows = run_rows(command + (["--algorithm", algorithm] if algorithm else []), f"sim:{nodes},{SIMULATED}", **settings)
    return {(algorithm, question.x(nodes, row["bytes"])): 1e6 * row["median_seconds"] for row in rows}


def predict(programs: Path, question: Question, algorithm: str, nodes: int) -> Times:
    return {(algorithm, question.x(nodes, size)): predicted(programs, algorithm or PREDICTED_FOR_CHOSEN, nodes, size)
            for size in question.sizes}


def gather(programs: Path) -> list[tuple[Times, Times]]:
    """What was measured and what is predicted, for each question."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        def all_of(ask, question: Question, nodes: tuple[int, ...]) -> list:
            return [pool.submit(ask, programs, question, algorithm, n)
                    for n in reversed(nodes) for algorithm in question.algorithms]
        asked = [(all_of(measure, q, that_fit(q.nodes)), all_of(predict, q, q.predicted_nodes)) for q in QUESTIONS]
        return [tuple({at: time for each in part for at, time in each.result().items()} for part in both)
                for both in asked]


def name_of(algorithm: str) -> str:
    return algorithm.replace("_", " ") if algorithm else "chosen by price"


def points_of(times: Times, algorithm: str) -> list[tuple[float, float]]:
    return sorted((x, time) for (a, x), time in times.items() if a == algorithm)


def panel(question: Question, measured: Times, foreseen: Times) -> Panel:
    curves = []
    for algorithm in question.algorithms:
        curves.append(Curve(name_of(algorithm), points_of(measured, algorithm), COLOURS[algorithm], marks_only=True))
        curves.append(Curve("", points_of(foreseen, algorithm), COLOURS[algorithm], dashed=True, marker="none"))
    if question.by_nodes:
        return Panel(question.title, curves, "microseconds", y_logarithmic=len(question.algorithms) > 1)
    return Panel(question.title, curves, "microseconds", x_label="bytes", y_logarithmic=True, x_text=size_text)


def draw(found: list[tuple[Times, Times]]) -> str:
    return chart(
        "Collectives by nodes and by size",
        [f"Points: the runtime in virtual time on a simulated machine, L {LATENCY}, o {OVERHEAD}, g {GAP}, {BANDWIDTH}; "
         "the median of the slowest node's time. Dashed: what `stretto simulate` predicts, without a runtime."],
        [panel(question, *times) for question, times in zip(QUESTIONS, found)], columns=3)


def numbers(question: Question, measured: Times, foreseen: Times) -> str:
    xs = sorted({x for _, x in (*measured, *foreseen)})
    rows = []
    for x in xs:
        cells = []
        for algorithm in question.algorithms:
            at = (algorithm, x)
            cells += [f"{times[at]:,.2f}" if at in times else "" for times in (measured, foreseen)]
        rows.append([f"{x:,}" if question.by_nodes else size_text(x), *cells])
    head = [f"{name_of(algorithm)}{part}" for algorithm in question.algorithms for part in ("", ", LogGP")]
    return table(["nodes" if question.by_nodes else "bytes", *head], rows)


def largest_error(question: Question, measured: Times, foreseen: Times) -> str:
    ratio, (algorithm, x) = max((max(measured[at] / foreseen[at], foreseen[at] / measured[at]), at) for at in measured)
    place = f"{x:,} nodes" if question.by_nodes else f"{size_text(x)} bytes"
    return f"Measured and predicted differ most by {100 * (ratio - 1):.1f} %: {name_of(algorithm)}, {place}.\n"


def document(found: list[tuple[Times, Times]]) -> str:
    machine = table(["assumed", "value"], [list(each) for each in MACHINE[:4]])
    sections = "\n".join(f"## {question.title}\n\n{numbers(question, *times)}\n{largest_error(question, *times)}"
                         for question, times in zip(QUESTIONS, found))
    return f"""# Collectives by nodes and by size

Written by `figures/collectives_by_nodes.py` (`make figures`). All times are virtual, of a simulated machine, in
microseconds; the same in every run.

![All-reduces and all-to-alls by nodes and by size](collectives_by_nodes.svg)

What was measured is `collective_bench` on the fabric `sim`: the whole runtime, each call after a barrier, the time of
the slowest node. *LogGP* is `stretto simulate` on the same network, without a runtime, also for more nodes than the
other has time for; beside schedules that the runtime chose it is that of `four_way_doubling`. The machine charges
nothing for reductions, in both.

Both go by the same rules (decision 51). Where they differ, the runtime asks for what is larger than 4 KiB, and cuts it
into pieces of 64 KiB: that costs it messages. And nodes do not leave the barrier before a call at the same moment, except
where their number is a power of two.

The papers' vectors have 10,000 and 1,000,000 doubles (80,000 and 8,000,000 bytes), their blocks 2 to 32 KiB; those here
are powers of two, which 16,384 nodes can share evenly. The Aspen paper's axis is the size, on a fixed number of nodes.

## The machine

{machine}
{sections}"""


def main() -> None:
    arguments = arguments_of(__doc__, ("collective_bench", "stretto"))
    found = gather(arguments.programs)
    write(arguments.output, "collectives_by_nodes", draw(found), document(found))


if __name__ == "__main__":
    main()
