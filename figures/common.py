"""What the scripts of figures share: the assumed machine, the programs, fits, tables and files."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from svg import Curve

ROOT = Path(__file__).resolve().parent.parent
SIZES = (16, 32, 64, 128, 256, 512)

# The assumed machine, a network of the kind of Titan's (Cray XK7, Gemini).
LATENCY, OVERHEAD, GAP, BANDWIDTH = "1.5us", "0.5us", "0.5us", "5GB/s"
TASK, JITTER, POINT = "1us", "0.5us", "10ns"
SIMULATED = f"latency={LATENCY},overhead={OVERHEAD},gap={GAP},bandwidth={BANDWIDTH}"
# As `stretto simulate` has it; the simulated fabric charges nothing for reductions, so that this may not either.
NETWORK = f"{LATENCY},{OVERHEAD},{GAP},{BANDWIDTH},0us"
MACHINE = [
    ("L, latency of a message", LATENCY),
    ("o, processor time of a message, at its sender and at its receiver", OVERHEAD),
    ("g, least time between two sends of a node", GAP),
    ("1/G, bandwidth", BANDWIDTH),
    ("jitter, added to each latency, uniform from 0", JITTER),
    ("launch of a task, on the processor that runs it", TASK),
    ("a grid point of one iteration: half for the function, half for its derivative", POINT),
]
# Measured by the paper's authors on Titan with Legion, whose runtime's own cost is in them.
PAPER_RATIOS = {16: 5, 512: 75}


@dataclass
class Spread:
    """Of all shards, iterations and seeds, in microseconds."""

    minimum: float
    mean: float
    maximum: float


def run_rows(command: list[str], fabric: str | None = None, **settings: str) -> list[dict]:
    """The JSON objects that a program prints, one a line; ends the script where it fails."""
    environment = dict(os.environ, **({"STRETTO_FABRIC": fabric} if fabric else {}), **settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} on {fabric}: {done.stderr.strip() or done.stdout.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_program(command: list[str], fabric: str | None = None) -> dict:
    return run_rows(command, fabric)[-1]


def size_text(size: float) -> str:
    """Bytes, short: 8, 64K, 4M."""
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return f"{size:g}"


def predicted(programs: Path, algorithm: str, nodes: int, size: int) -> float:
    """What `stretto simulate` says of an algorithm on the assumed network, in microseconds."""
    command = [str(programs / "stretto"), "simulate", algorithm, "--nodes", str(nodes), "--bytes", str(size), "--network",
               NETWORK, "--json"]
    return 1e6 * run_program(command)["seconds_max"]


@dataclass
class Fit:
    """The least-squares line a + b x and its coefficient of determination."""

    a: float
    b: float
    r_squared: float

    @staticmethod
    def of(xs: list[float], ys: list[float]) -> "Fit":
        mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
        covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
        variance = sum((x - mean_x) ** 2 for x in xs)
        total = sum((y - mean_y) ** 2 for y in ys)
        b = covariance / variance
        a = mean_y - b * mean_x
        residual = sum((y - a - b * x) ** 2 for x, y in zip(xs, ys))
        return Fit(a, b, 1 - residual / total)


def law(method: str, nodes: float) -> float:
    return nodes if method == "aggregate" else math.log2(nodes)


def formula(method: str, fit: Fit) -> str:
    return f"{fit.a:.2f} + {fit.b:.3f} {'P' if method == 'aggregate' else 'log2 P'} us"


def measured_curve(name: str, values: dict[int, Spread], colour: str) -> Curve:
    return Curve(name, [(n, values[n].mean) for n in SIZES], colour,
                 spread=[(values[n].minimum, values[n].maximum) for n in SIZES])


def fitted_curve(method: str, fit: Fit, colour: str) -> Curve:
    return Curve(f"{formula(method, fit)}  (R² = {fit.r_squared:.5f})",
                 [(n, fit.a + fit.b * law(method, n)) for n in SIZES], colour, dashed=True, marker="none")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def arguments_of(description: str | None, programs: tuple[str, ...], seeds: bool = False) -> argparse.Namespace:
    """The options that every script has; ends with a sentence where one of the programs is not built."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin", help="where the built programs are")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/figures", help="where the files go")
    if seeds:
        parser.add_argument("--seeds", type=int, default=5, help="runs of each kind, which differ by jitter")
    arguments = parser.parse_args()
    if seeds and arguments.seeds < 1:
        parser.error("--seeds must be at least 1")
    for program in programs:
        if not (arguments.programs / program).exists():
            sys.exit(f"{arguments.programs / program} is not there; `make build` makes it")
    return arguments


def write(folder: Path, name: str, picture: str, document: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    (folder / f"{name}.md").write_text(document, encoding="utf-8")
    print(f"wrote {folder / name}.svg and {name}.md")
