#!/usr/bin/env python3
"""Figure 12 of the Aspen paper ("Advanced collective communication in Aspen"), two concurrent reduces on four nodes,
redrawn with concurrent_reduce_bench on a simulated machine: docs/figures/concurrent_reduces.svg, and the numbers as
concurrent_reduces.md.

Needs nothing but Python and the built programs. The machine is simulated: every run gives the same files.
"""

from __future__ import annotations

from pathlib import Path

from common import arguments_of, run_rows, size_text, table, write
from svg import BLUE, GREEN, ORANGE, Curve, Panel, chart

# A network of the kind of the paper's cluster: Gigabit Ethernet.
LATENCY, OVERHEAD, BANDWIDTH = "25us", "5us", "125MB/s"
SIZES = tuple(1 << power for power in range(3, 23))
VARIANTS = ("mpi style", "parallel", "balanced")
COLOURS = dict(zip(VARIANTS, (ORANGE, GREEN, BLUE)))
PARTS = {"median_seconds": "one call", "back_to_back_seconds": "back to back"}

Times = dict[tuple[str, str, int], float]  # by part, variant and size, in microseconds


def measure(programs: Path) -> Times:
    command = [str(programs / "concurrent_reduce_bench"), "--sizes", ",".join(map(str, SIZES)), "--seconds", "1e-6"]
    rows = run_rows(command, f"sim:4,latency={LATENCY},overhead={OVERHEAD},bandwidth={BANDWIDTH}")
    return {(part, row["variant"], row["bytes"]): 1e6 * row[part] for row in rows for part in PARTS}


def ratio(times: Times, part: str, size: int) -> float:
    return times[part, "parallel", size] / times[part, "balanced", size]


def draw(times: Times) -> str:
    panels = [Panel(f"Two reduces, {words}",
                    [Curve(variant, [(size, times[part, variant, size]) for size in SIZES], COLOURS[variant])
                     for variant in VARIANTS],
                    "microseconds", x_label="bytes", y_logarithmic=True, x_text=size_text)
              for part, words in PARTS.items()]
    gains = [Curve(words, [(size, ratio(times, part, size)) for size in SIZES], colour)
             for (part, words), colour in zip(PARTS.items(), (BLUE, ORANGE))]
    panels.append(Panel("What planning together gains", gains, "parallel / balanced", x_label="bytes", x_text=size_text))
    return chart("Two concurrent reduces on four nodes (the Aspen paper's Fig. 5 and 12)",
                 [f"Virtual time on a simulated machine: L {LATENCY}, o {OVERHEAD}, {BANDWIDTH}. One call: after a barrier, "
                  "the time of the slowest node."], panels, columns=3)


def document(times: Times) -> str:
    sections = []
    for part, words in PARTS.items():
        rows = [[size_text(size), *(f"{times[part, variant, size]:,.1f}" for variant in VARIANTS),
                 f"{ratio(times, part, size):.2f}"] for size in SIZES]
        sections.append(f"## {words.capitalize()}\n\n{table(['bytes', *VARIANTS, 'parallel / balanced'], rows)}")
    worst, worst_at = min((ratio(times, "back_to_back_seconds", size), size) for size in SIZES)
    best, at = max((ratio(times, "median_seconds", size), size) for size in SIZES)
    return f"""# Two concurrent reduces: one after the other, in parallel, planned together

Written by `figures/concurrent_reduces.py` (`make figures`). All times are virtual, of a simulated machine, in microseconds;
the same in every run.

![Times of two concurrent reduces by the bytes of a vector](concurrent_reduces.svg)

The program of the Aspen paper's Fig. 5 on four nodes: the sum of all nodes' vectors to nodes 0 and 2, and the product of
those of nodes 1 and 2 to node 3. *mpi style* writes it as blocking reduces, each followed by a broadcast where there are
several receivers; *parallel* issues both general reduces at once, as they are given; *balanced* plans them together
(`concurrent`). The paper measured on Gigabit Ethernet, hence the machine: L {LATENCY}, o {OVERHEAD}, {BANDWIDTH}.

The paper has its parallel program more than twice as fast as both in MPI's style, and 25 % more from balancing at the best.
Here planning together gains {100 * (best - 1):.0f} % at the best, for one call with {size_text(at)} bytes, and costs up to
{100 * (1 / worst - 1):.0f} % back to back with {size_text(worst_at)} bytes. The schedules are those that the runtime chooses by price.

{chr(10).join(sections)}"""


def main() -> None:
    arguments = arguments_of(__doc__, ("concurrent_reduce_bench",))
    times = measure(arguments.programs)
    write(arguments.output, "concurrent_reduces", draw(times), document(times))


if __name__ == "__main__":
    main()
