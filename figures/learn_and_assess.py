#!/usr/bin/env python3
"""The comparison behind figures 7 and 8 of the Legion paper ("Scalable collectives for distributed asynchronous many-task
runtimes"), an order-statistics engine by aggregation and by all-reduce, measured with apps/statistics on a simulated
machine: docs/figures/statistics.svg, and the numbers as statistics.md.

Needs nothing but Python and the built programs. The machine is simulated: every run gives the same files.
"""

from __future__ import annotations

import os
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import (BANDWIDTH, GAP, JITTER, LATENCY, MACHINE, OVERHEAD, PAPER_RATIOS, SIMULATED, SIZES, TASK, Fit, Spread,
                    arguments_of, fitted_curve, formula, law, measured_curve, run_program, table, write)
from svg import BLUE, ORANGE, Panel, chart

METHODS = ("native", "aggregate")
COLOURS = {"native": BLUE, "aggregate": ORANGE}
COLUMNS, ROWS, REPEATS = 8, 4096, 20
Measured = dict[str, dict[int, Spread]]


def write_data(path: Path) -> None:
    draw = random.Random(1)
    lines = [",".join(f"c{column}" for column in range(COLUMNS))]
    lines += [",".join(f"{draw.gauss(0, 1):.6f}" for _ in range(COLUMNS)) for _ in range(ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(program: Path, data: Path, nodes: int, seed: int) -> dict[str, dict]:
    fabric = f"sim:{nodes},{SIMULATED},task={TASK},jitter={JITTER},seed={seed}"
    found = run_program([str(program), str(data), "--method", "both", "--repeat", str(REPEATS), "--json"], fabric)
    return {each["method"]: each for each in found["methods"]}


def spread(runs: list[dict]) -> Spread:
    return Spread(*(1e6 * value for value in (
        min(run["collective_seconds_min"] for run in runs),
        sum(run["collective_seconds_mean"] for run in runs) / len(runs),
        max(run["collective_seconds_max"] for run in runs))))


def gather(program: Path, seeds: int) -> Measured:
    wanted = [(nodes, seed) for nodes in reversed(SIZES) for seed in range(1, seeds + 1)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        data = Path(folder) / "data.csv"
        write_data(data)
        found = dict(zip(wanted, pool.map(lambda each: measure(program, data, *each), wanted)))
    return {m: {n: spread([found[n, seed][m] for seed in range(1, seeds + 1)]) for n in SIZES} for m in METHODS}


def fits_of(measured: Measured) -> dict[str, Fit]:
    return {m: Fit.of([law(m, n) for n in SIZES], [measured[m][n].mean for n in SIZES]) for m in METHODS}


def panel(title: str, measured: Measured, fits: dict[str, Fit], method: str) -> Panel:
    points = measured_curve(f"{method}: mean, minimum and maximum", measured[method], COLOURS[method])
    points.marks_only = True
    return Panel(title, [points, fitted_curve(method, fits[method], COLOURS[method])], "microseconds",
                 x_logarithmic=method == "native")


def draw(measured: Measured, fits: dict[str, Fit], seeds: int) -> str:
    both = [measured_curve(m, measured[m], COLOURS[m]) for m in reversed(METHODS)]
    return chart(
        "statistics: learning a model, by all-reduce and through one node",
        [f"The moments of {COLUMNS} columns (56 bytes each) combined by an operator on structs; {REPEATS} times, {seeds} "
         f"seeds. Virtual time on a simulated machine: L {LATENCY}, o {OVERHEAD}, g {GAP},",
         f"{BANDWIDTH}, jitter up to {JITTER}, task launch {TASK}. Points are means, bars reach from the least to the "
         "greatest of all nodes and repetitions."],
        [panel("native: Stretto's all-reduce", measured, fits, "native"),
         panel("aggregate: many-to-one-to-many", measured, fits, "aggregate"),
         Panel("Both, both axes logarithmic", both, "microseconds", y_logarithmic=True)], columns=3)


def document(measured: Measured, fits: dict[str, Fit], seeds: int) -> str:
    # Without the row about the stencil's points.
    machine = table(["assumed", "value"], [list(each) for each in MACHINE[:-1]])
    cells = {m: {n: f"{s.mean:.2f} ({s.minimum:.2f} to {s.maximum:.2f})" for n, s in measured[m].items()} for m in METHODS}
    times = table(["nodes", *METHODS, "aggregate / native"],
                  [[str(n), *(cells[m][n] for m in METHODS),
                    f"{measured['aggregate'][n].mean / measured['native'][n].mean:.2f}"] for n in SIZES])
    lines = table(["mean of", "least squares", "R²"],
                  [[m, formula(m, fits[m]), f"{fits[m].r_squared:.5f}"] for m in METHODS])
    paper = " and ".join(f"{ratio} at {nodes} nodes" for nodes, ratio in PAPER_RATIOS.items())
    return f"""# Learning a model by all-reduce and through one node: statistics

Written by `figures/learn_and_assess.py` (`make figures`). All times are virtual, of a simulated machine, in microseconds;
the same in every run.

![Times of one collective at 16 to 512 nodes](statistics.svg)

The Legion paper's Fig. 7 is an order-statistics engine of aggregation regions: what each node has learned goes to a
top-level task, and the model from there to every node. `apps/statistics` does that (`aggregate`), and the same with one
all-reduce (`native`). The times are those of combining the moments of {COLUMNS} columns, 56 bytes each, with an operator on
structs, {REPEATS} times in {seeds} runs with different seeds: from the moment a node has its own to the moment it has all
nodes'. Both methods' results differ by rounding only; the program checks it.

## The machine

{machine}
## One collective: mean (minimum to maximum)

{times}
## Fits over {len(SIZES)} sizes

{lines}
The paper found its whole stencil application slower by factors of about {paper}, on Titan with
Legion, where launching a task costs far more than a message; see [the stencil](stencil_1d.md).
"""


def main() -> None:
    arguments = arguments_of(__doc__, ("statistics",), seeds=True)
    measured = gather(arguments.programs / "statistics", arguments.seeds)
    fits = fits_of(measured)
    for method in METHODS:
        print(f"{method}: {formula(method, fits[method])}, R² {fits[method].r_squared:.5f}")
    write(arguments.output, "statistics", draw(measured, fits, arguments.seeds), document(measured, fits, arguments.seeds))


if __name__ == "__main__":
    main()
