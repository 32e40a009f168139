"""A small writer of SVG charts, with nothing but Python's own library: the same input gives the same bytes."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Callable, Sequence

# Told apart by people of all kinds of colour vision (Okabe and Ito).
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
INK, SOFT, RULE = "#1f2933", "#52606d", "#e4e7eb"
FONT = "font-family='Helvetica, Arial, DejaVu Sans, sans-serif'"


@dataclass
class Curve:
    """Points (x, y), joined unless `marks_only`; `spread` gives (lowest, highest) of each point, drawn as a bar.

    One without a name is not in the legend.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False
    marker: str = "circle"  # circle, square, none
    marks_only: bool = False
    spread: Sequence[tuple[float, float]] = field(default_factory=list)


@dataclass
class Panel:
    """A chart of its own. Its legend stands above the data."""

    title: str
    curves: Sequence[Curve]
    y_label: str
    x_label: str = "nodes"
    x_logarithmic: bool = True
    y_logarithmic: bool = False
    x_text: Callable[[float], str] = "{:g}".format  # of a tick


def text(x: float, y: float, words: str, size: float = 12, colour: str = SOFT, anchor: str = "start",
         weight: int = 400, turn: float = 0) -> str:
    turned = f" transform='rotate({turn:g} {x:.1f} {y:.1f})'" if turn else ""
    return (f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' fill='{colour}' text-anchor='{anchor}' "
            f"font-weight='{weight}'{turned}>{html.escape(words)}</text>")


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dashes: str = "") -> str:
    dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
    return (f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' "
            f"stroke-width='{width:g}'{dashed}/>")


def linear_ticks(highest: float, at_most: int = 6) -> list[float]:
    power = 10 ** math.floor(math.log10(highest / at_most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if highest / (power * factor) <= at_most)
    return [step * i for i in range(int(highest / step + 1e-9) + 1)]


def spread_out(ticks: Sequence[float], place: Callable[[float], float], distance: float = 30) -> list[float]:
    """The ticks from the greatest down, without those that would stand too close to the one before."""
    kept: list[float] = []
    for tick in sorted(ticks, reverse=True):
        if not kept or place(kept[-1]) - place(tick) >= distance:
            kept.append(tick)
    return kept[::-1]


def legend_rows(panel: Panel) -> int:
    """Of one column, or of two where more would leave too little room for the data."""
    named = sum(1 for curve in panel.curves if curve.name)
    return named if named <= 6 else -(-named // 2)


def legend_height(panel: Panel) -> float:
    return 18 * legend_rows(panel) + 10


class _Axes:
    """Where data lie on the picture."""

    def __init__(self, panel: Panel, box: tuple[float, float, float, float]) -> None:
        self.left, self.top, self.right, self.bottom = box
        xs = [x for curve in panel.curves for x, _ in curve.points]
        ys = [y for curve in panel.curves for _, y in curve.points]
        ys += [y for curve in panel.curves for low_high in curve.spread for y in low_high]
        x_scale = math.log2 if panel.x_logarithmic else float
        y_scale = math.log10 if panel.y_logarithmic else float
        margin = 0.06 * (x_scale(max(xs)) - x_scale(min(xs)))
        x_low = x_scale(min(xs)) - margin if panel.x_logarithmic else 0.0
        x_high = x_scale(max(xs)) + margin
        y_low = y_scale(min(ys)) - 0.08 if panel.y_logarithmic else 0.0
        y_high = y_scale(max(ys))
        ceiling = self.top + legend_height(panel)
        self.x = lambda x: self.left + (x_scale(x) - x_low) / (x_high - x_low) * (self.right - self.left)
        self.y = lambda y: self.bottom - (y_scale(y) - y_low) / (y_high - y_low) * (self.bottom - ceiling)
        self.x_ticks = spread_out(sorted(set(xs)), self.x)
        if panel.y_logarithmic:
            candidates = [factor * 10.0**power for power in range(-9, 9) for factor in (1, 2, 5)]
            within = [tick for tick in candidates if y_low <= y_scale(tick) <= y_high]
            self.y_ticks = spread_out(within, lambda tick: -self.y(tick), 18) or [max(ys)]
        else:
            self.y_ticks = linear_ticks(max(ys))


def _frame(panel: Panel, axes: _Axes) -> list[str]:
    parts = [text(axes.left, axes.top - 16, panel.title, 13.5, INK, weight=600)]
    for tick in axes.y_ticks:
        parts.append(line(axes.left, axes.y(tick), axes.right, axes.y(tick), RULE))
        parts.append(text(axes.left - 8, axes.y(tick) + 4, f"{tick:g}", 11, anchor="end"))
    for tick in axes.x_ticks:
        parts.append(line(axes.x(tick), axes.bottom, axes.x(tick), axes.bottom + 4, SOFT))
        parts.append(text(axes.x(tick), axes.bottom + 18, panel.x_text(tick), 11, anchor="middle"))
    parts.append(line(axes.left, axes.bottom, axes.right, axes.bottom, SOFT))
    middle = (axes.top + axes.bottom) / 2
    longest = max(len(f"{tick:g}") for tick in axes.y_ticks)
    parts.append(text(axes.left - max(44, 20 + 6.4 * longest), middle, panel.y_label, 12, anchor="middle", turn=-90))
    parts.append(text((axes.left + axes.right) / 2, axes.bottom + 38, panel.x_label, 12, anchor="middle"))
    return parts


def _mark(curve: Curve, x: float, y: float) -> str:
    if curve.marker == "square":
        return f"<rect x='{x - 3.4:.1f}' y='{y - 3.4:.1f}' width='6.8' height='6.8' fill='{curve.colour}'/>"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.6' fill='{curve.colour}'/>"


def _curve(curve: Curve, axes: _Axes) -> list[str]:
    parts = []
    placed = [(axes.x(x), axes.y(y)) for x, y in curve.points]
    for (x, _), (low, high) in zip(placed, curve.spread):
        parts.append(line(x, axes.y(low), x, axes.y(high), curve.colour, 1.1))
        parts += [line(x - 4, axes.y(end), x + 4, axes.y(end), curve.colour, 1.1) for end in (low, high)]
    if not curve.marks_only:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        dashed = " stroke-dasharray='6 4'" if curve.dashed else ""
        parts.append(f"<polyline points='{path}' fill='none' stroke='{curve.colour}' stroke-width='1.8' "
                     f"stroke-linejoin='round'{dashed}/>")
    if curve.marker != "none":
        parts += [_mark(curve, x, y) for x, y in placed]
    return parts


def _legend(panel: Panel, axes: _Axes) -> list[str]:
    parts = []
    for number, curve in enumerate(curve for curve in panel.curves if curve.name):
        column, row = divmod(number, legend_rows(panel))
        x, middle = axes.left + 6 + column * (axes.right - axes.left) / 2, axes.top + 1 + 18 * row
        if not curve.marks_only:
            parts.append(line(x, middle, x + 26, middle, curve.colour, 1.8, "6 4" if curve.dashed else ""))
        if curve.marker != "none":
            parts.append(_mark(curve, x + 13, middle))
        parts.append(text(x + 34, middle + 4, curve.name, 11.5, INK))
    return parts


def chart(title: str, subtitle: Sequence[str], panels: Sequence[Panel], columns: int = 2) -> str:
    """A picture of panels in rows, as the text of an SVG file."""
    cell_width, cell_height, head = 520, 360, 52 + 17 * len(subtitle)
    rows = -(-len(panels) // columns)
    width, height = cell_width * columns + 16, head + cell_height * rows
    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
             f"viewBox='0 0 {width} {height}' {FONT}>",
             f"<rect width='{width}' height='{height}' fill='white'/>", text(28, 34, title, 18, INK, weight=600)]
    parts += [text(28, 55 + 17 * row, words, 12) for row, words in enumerate(subtitle)]
    for place, panel in enumerate(panels):
        left = cell_width * (place % columns) + 76
        top = head + cell_height * (place // columns) + 36
        axes = _Axes(panel, (left, top, left + cell_width - 100, top + cell_height - 96))
        parts += _frame(panel, axes)
        for curve in panel.curves:
            parts += _curve(curve, axes)
        parts += _legend(panel, axes)
    return "\n".join(parts + ["</svg>"]) + "\n"
