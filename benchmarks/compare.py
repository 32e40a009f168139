#!/usr/bin/env python3
"""Prints the results of scripts/bench side by side: compare.py FILE.jsonl...

Each table of times has a row for a question (operation, bytes, ranks), a column for each rival, and the ratio of
Stretto's time to that of the best MPI: below 1 Stretto is ahead, and marked. Where the same was done by hand, without
any runtime, the ratio to that follows. Rivals that are missing and runs that failed are listed by name.

A time is the median over the rounds. A ratio is the median of the ratios in those heats in which both were measured, as a
rule before the machine changed: where its state is another one some minutes later, the quotient of the two medians could be
that of two states. The best MPI is the one beside which Stretto does worst, of those that were measured in half of its heats.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

NOT_MEASURED = "-"
BY_HAND = "by hand"  # of benchmarks/limits
SHAPER_BUCKET_BYTES = 64 << 10  # of scripts/bench-hosts
OVERLAP_FIELDS = ("alone_seconds", "completion_seconds", "computation_seconds", "slowdown", "exposed", "overlap")
OPERATIONS = (
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "allgather",
    "gather",
    "scatter",
    "reduce_scatter",
    "all_to_all",
    "scan",
    "exscan",
    "allgatherv",
    "all_to_allv",
)


def read_rows(paths):
    """All rows of the files. A line that is no JSON object, as a run that was ended may leave it, is named and left out."""
    rows = []
    for path in paths:
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            raise SystemExit(f"{path}: {error.strerror}; scripts/bench writes such files") from None
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if isinstance(row, dict):
                if "heat" in row:
                    row["heat"] = (path, row["heat"])
                rows.append(row)
            else:
                print(f"{path}:{number}: not a JSON object, left out", file=sys.stderr)
    return rows


def of(rows, operation):
    return [row for row in rows if row.get("operation") == operation]


def in_units(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:  # which is rounded to it
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size_of(count):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def column_of(row):
    if row["rival"] != "stretto":
        return row["rival"]
    return "stretto " + row["fabric"].split(":")[0]


def print_table(title, header, lines):
    print(f"\n{title}\n")
    table = [header, *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(header))]
    for number, line in enumerate(table):
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def columns_of(rows):
    """Stretto's first, the others in the order in which they were measured."""
    names = list(dict.fromkeys(column_of(row) for row in rows))
    return sorted(names, key=lambda name: not name.startswith("stretto"))


def questions_of(row):
    """What rows have to have in common to be compared: ranks, operation, whether in user memory, bytes.

    MPI's vectors always lie in the user's own memory; Stretto's lie there where it says so.
    """
    memories = [row["memory"] == "user"] if "memory" in row else [False, True]
    return [(row["ranks"], OPERATIONS.index(row["operation"]), user, row["bytes"]) for user in memories]


class Times:
    """What one column says to one question: a time, or several, of each heat."""

    def __init__(self):
        self.by_heat = {}

    def add(self, row, value):
        self.by_heat.setdefault(row.get("heat"), []).append(value)

    def median(self):
        return statistics.median(value for values in self.by_heat.values() for value in values)

    def ratio_to(self, other):
        """The median over the heats that both have; None where these are few."""
        ratios = [
            statistics.median(values) / statistics.median(other.by_heat[heat])
            for heat, values in self.by_heat.items()
            if heat in other.by_heat
        ]
        return statistics.median(ratios) if 2 * len(ratios) >= len(self.by_heat) else None


def ratio_to_best(ours, rivals):
    """That to the rival beside which it is highest; None where it was measured beside none."""
    ratios = [ours.ratio_to(rival) for rival in rivals]
    return max((ratio for ratio in ratios if ratio is not None), default=None)


def ratios_of(at, columns):
    """Those of Stretto's times to the best MPI's, of the columns that were measured."""
    rivals = [at[name] for name in at if not name.startswith("stretto") and name != BY_HAND]
    ours = [name for name in columns if name.startswith("stretto") and name in at]
    ratios = {name: ratio_to_best(at[name], rivals) for name in ours}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}


def is_ahead(ratio):
    return round(ratio, 2) < 1


def mark_of(ratio):
    return f"{'ahead ' if is_ahead(ratio) else ''}{ratio:.2f}"


def ratio_columns_of(ours):
    return [f"{name.removeprefix('stretto ')} / best MPI" for name in ours]


def by_question(rows, field):
    """Of each question the Times by column; in the order in which they are printed."""
    questions = {}
    for row in rows:
        for question in questions_of(row):
            questions.setdefault(question, {}).setdefault(column_of(row), Times()).add(row, row[field])
    strettos = {question for row in rows if row["rival"] == "stretto" for question in questions_of(row)}

    def is_asked(question):
        ranks, operation, user, size = question
        return question in strettos or not (user or (ranks, operation, True, size) in strettos)

    return [(question, questions[question]) for question in sorted(filter(is_asked, questions))]


def print_times(rows, field, title):
    """A table of one field, a row for each question, and how often Stretto is ahead."""
    columns = columns_of(rows)
    ours = [name for name in columns if name.startswith("stretto")]
    beside_limit = [name for name in ours if BY_HAND in columns and name == "stretto cluster"]
    lines = []
    judged = []
    for (ranks, operation, user, size), at in by_question(rows, field):
        ratios = ratios_of(at, columns)
        judged.append(ratios)
        cells = [in_units(at[name].median()) if name in at else NOT_MEASURED for name in columns]
        marks = [mark_of(ratios[name]) if name in ratios else "" for name in ours]
        by_hand = [at[name].ratio_to(at[BY_HAND]) if at.keys() >= {name, BY_HAND} else None for name in beside_limit]
        marks += ["" if ratio is None else f"{ratio:.2f}" for ratio in by_hand]
        name = OPERATIONS[operation] + (", user memory" if user else "")
        lines.append([name, size_of(size), str(ranks), *cells, *marks])
    ratio_columns = ratio_columns_of(ours)
    ratio_columns += [f"{name.removeprefix('stretto ')} / {BY_HAND}" for name in beside_limit]
    print_table(title, ["operation", "size", "ranks", *columns, *ratio_columns], lines)
    print()
    for name in ours:
        compared = [ratios[name] for ratios in judged if name in ratios]
        print(f"  {name} is ahead of the best MPI in {sum(map(is_ahead, compared))} of {len(compared)}")


def print_concurrent_reduces(rows):
    """A row for each way to write the program, a column for each size; each cell the median, and the mean without
    barriers, of several rounds their medians; then Stretto's best call beside the best graph of messages."""
    sizes = sorted({row["bytes"] for row in rows})
    rounds = {}
    for row in rows:
        rounds.setdefault((column_of(row), row["variant"]), {}).setdefault(row["bytes"], []).append(row)

    def median(field, measured):
        return statistics.median(row[field] for row in measured)

    def cell(measured):
        return f"{in_units(median('median_seconds', measured))}, {in_units(median('back_to_back_seconds', measured))}"

    def calls(is_meant, size):
        for who, at in rounds.items():
            if is_meant(*who) and size in at:
                times = Times()
                for row in at[size]:
                    times.add(row, row["median_seconds"])
                yield times

    def best_ratio(size):
        graphs = list(calls(lambda column, variant: variant == "message graph", size))
        ours = calls(lambda column, variant: column in ("stretto cluster", "stretto local"), size)
        ratios = [ratio_to_best(times, graphs) for times in ours]
        best = min((ratio for ratio in ratios if ratio is not None), default=None)
        return NOT_MEASURED if best is None else mark_of(best)

    table = [[*who, *(cell(at[size]) if size in at else NOT_MEASURED for size in sizes)] for who, at in rounds.items()]
    table.append(["the best of Stretto's", "/ best graph", *map(best_ratio, sizes)])
    title = "Two concurrent reduces (Aspen, Fig. 12) on 4 ranks: median; mean without barriers. sim: virtual time"
    print_table(title, ["rival", "program", *map(size_of, sizes)], table)


def rate_of(bits_per_second):
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:g} {unit}"
    return f"{bits_per_second:g} bit/s"


def where(row):
    """How many ranks, and over which links if each has a host of its own."""
    return f"{row['ranks']} at {rate_of(row['bits_per_second'])}" if "bits_per_second" in row else str(row["ranks"])


def bytes_on_the_wire(row):
    """What goes through a rank's link one way, at the least: 2 (P-1)/P of a vector that is reduced for all, a
    broadcast's vector, a block for each other rank."""
    ranks = row["ranks"]
    times = {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "all_to_all": ranks - 1}
    return times[row["operation"]] * row["bytes"]


def print_hosts(operation, rows):
    """One operation between hosts, beside the wire's bound and, of all-reduces, plain sockets."""
    columns = sorted(columns_of(rows), key=lambda name: not name.startswith("sockets"))
    rivals = [name for name in columns if not name.startswith("sockets")]
    questions = {}
    for row in rows:
        question = (row["bits_per_second"], row["ranks"], row["bytes"])
        at = questions.setdefault(question, {"where": where(row), "wire": bytes_on_the_wire(row), "times": {}})
        at["times"].setdefault(column_of(row), Times()).add(row, row["median_seconds"])
    lines = []
    for (rate, _, size), at in sorted(questions.items(), key=lambda each: (-each[0][0], *each[0][1:])):
        times = at["times"]
        ratios = ratios_of({name: times[name] for name in rivals if name in times}, rivals)
        bound = at["wire"] / (rate / 8)
        # What fits into a shaper's bucket passes faster than the link.
        fits_bucket = at["wire"] <= SHAPER_BUCKET_BYTES
        ours = times.get("stretto cluster")
        lines.append([
            at["where"],
            size_of(size),
            NOT_MEASURED if fits_bucket else in_units(bound),
            *(in_units(times[name].median()) if name in times else NOT_MEASURED for name in columns),
            mark_of(ratios["stretto cluster"]) if ratios else "",
            NOT_MEASURED if fits_bucket or ours is None else f"{ours.median() / bound:.2f}",
        ])
    header = ["hosts", "size", "the wire's bound", *columns, "stretto / best MPI", "stretto / bound"]
    sockets = "; sockets carry the same bytes as a ring would" if len(rivals) < len(columns) else ""
    print_table(f"{operation} between hosts: median{sockets}", header, lines)


def print_ping_pongs(rows):
    """A row for each way to send and each place, a column for each size: half the round trip, and the bandwidth, of several
    rounds the medians."""
    sizes = sorted({row["bytes"] for row in rows})
    rounds = {}
    for row in rows:
        rounds.setdefault((column_of(row), row["variant"], where(row)), {}).setdefault(row["bytes"], []).append(row)
    header = ["rival", "by", "ranks", *map(size_of, sizes)]
    for title, field, text in (
        ("Messages between two ranks (Aspen, Fig. 9): half the round trip", "half_round_trip_seconds", in_units),
        ("The same (Aspen, Fig. 11): MB/s with a window of messages", "bytes_per_second", lambda rate: f"{rate / 1e6:.3g}"),
    ):
        cells = {who: {size: text(statistics.median(row[field] for row in measured)) for size, measured in at.items()}
                 for who, at in rounds.items()}
        print_table(title, header, [[*who, *(at.get(size, NOT_MEASURED) for size in sizes)] for who, at in cells.items()])


def print_overlap(rows):
    """A row for each rival and place: medians over the rounds, the slowest and the counts of all."""
    rounds = {}
    for row in rows:
        rounds.setdefault((column_of(row), where(row), size_of(row["bytes"]), f"{row['factor']:2} x"), []).append(row)
    lines = []
    for who, measured in sorted(rounds.items(), key=lambda item: item[0][-1]):
        median = {field: statistics.median(row[field] for row in measured) for field in OVERLAP_FIELDS}
        slowest = max(row["slowest_completion_seconds"] for row in measured)
        in_time = sum(row["completed_before_computation_ended"] for row in measured)
        lines.append([
            *who,
            in_units(median["alone_seconds"]),
            in_units(median["completion_seconds"]),
            in_units(slowest),
            in_units(median["computation_seconds"]),
            f"{in_time} of {sum(row['iterations'] for row in measured)}",
            f"{median['slowdown']:.3f}",
            f"{median['exposed']:.2f}",
            f"{median['overlap']:.0%}",
        ])
    header = ["rival", "ranks", "size", "length", "alone", "done after", "slowest", "computation",
              "done before its end", "slowed", "exposed", "overlap"]
    title = ("All-reduce issued before a computation of so many times its length that makes no calls and fills every"
             " worker; exposed: what both take beyond the computation alone, by the all-reduce alone; overlap, as OSU's"
             " benchmarks have it: 1 less the time outside of the slowed computation, by the all-reduce alone")
    print_table(title, header, lines)


def print_ffts(rows):
    """A row for each number of ranks, size of blocks, and way to run: the median over the rounds of the mean time; then
    that of each one's better way."""
    columns = columns_of(rows)
    ours = [name for name in columns if name.startswith("stretto")]
    questions = {}
    for row in rows:
        for run in row["runs"]:
            at = questions.setdefault((row["ranks"], row["block_bytes"], run["overlap"]), {"n": row["n"], "times": {}})
            at["times"].setdefault(column_of(row), Times()).add(row, run["forward_seconds_mean"])
    points, times = {}, {}
    for (ranks, block, overlap), at in questions.items():
        points[ranks, block] = " x ".join(map(str, at["n"]))
        times[ranks, block, overlap] = at["times"]
        better = times.setdefault((ranks, block, "the better"), {})
        for name, its_times in at["times"].items():
            better[name] = min(its_times, better.get(name, its_times), key=Times.median)
    lines = []
    for (ranks, block, overlap), at in sorted(times.items()):
        ratios = ratios_of(at, columns)
        cells = [in_units(at[name].median()) if name in at else NOT_MEASURED for name in columns]
        marks = [mark_of(ratios[name]) if name in ratios else "" for name in ours]
        lines.append([points[ranks, block], str(ranks), size_of(block), overlap, *cells, *marks])
    header = ["points", "ranks", "blocks", "overlap", *columns, *ratio_columns_of(ours)]
    print_table("Fourier transforms in three dimensions (apps/fft3d), one way: mean of the ranks' times", header, lines)


def print_idle(rows):
    lines = [
        [column_of(row), str(row["ranks"]), in_units(row["seconds"]), in_units(row["cpu_seconds"]), f"{row['cores']:.1%}"]
        for row in rows
    ]
    print_table("An idle job: all ranks wait", ["rival", "ranks", "waited", "cpu, all ranks", "of a core"], lines)


def print_events(rows):
    """What benchmarks/event measures; it has no rivals here."""
    named = {"heat", "benchmark", "nodes", "unit", "median", "repetitions"}
    lines = [
        [
            row["benchmark"],
            str(row.get("nodes", NOT_MEASURED)),
            ", ".join(f"{key} {value}" for key, value in row.items() if key not in named) or NOT_MEASURED,
            f"{row['median']:.4g}",
            row["unit"],
        ]
        for row in rows
    ]
    print_table("Events and tasks: Stretto alone, median", ["benchmark", "nodes", "with", "result", "unit"], lines)


def print_notes(rows):
    machines = {(row["model"], row["cores"]) for row in of(rows, "machine")}
    for model, cores in sorted(machines):
        loads = [row["load_average"] for row in of(rows, "machine")]
        print(f"Machine: {model}, {cores} cores; load average at the start {', '.join(map(str, loads))}")
    versions = {row["rival"]: " ".join(row["version"].split()) for row in rows if "version" in row}
    for rival, version in versions.items():
        print(f"  {rival}: {version}")


def main():
    parser = argparse.ArgumentParser(description="Prints the results of scripts/bench side by side.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl")
    rows = read_rows(parser.parse_args().files)
    print_notes(rows)
    if events := [row for row in rows if "benchmark" in row]:
        print_events(events)
    all_times = [row for row in rows if row.get("operation") in OPERATIONS]
    rewritten = [row for row in all_times if row.get("input") == "rewritten"]
    times = [row for row in all_times if row.get("input") != "rewritten"]
    for operation in OPERATIONS:
        if hosts := [row for row in of(times, operation) if "bits_per_second" in row]:
            print_hosts(operation, hosts)
    if times := [row for row in times if "bits_per_second" not in row]:
        print_times(times, "median_seconds", "Collectives on doubles: median over the calls of the slowest rank's time")
        print_times(times, "p99_seconds", "The same: 99th percentile")
        print_times(times, "back_to_back_seconds", "The same, without barriers in between: mean")
    if rewritten:
        print_times(rewritten, "median_seconds", "Of input that is written anew before each call: median")
    if ping_pongs := of(rows, "ping_pong"):
        print_ping_pongs(ping_pongs)
    if concurrent := of(rows, "concurrent_reduce"):
        print_concurrent_reduces(concurrent)
    if overlap := of(rows, "allreduce_overlap"):
        print_overlap(overlap)
    if ffts := of(rows, "fft3d"):
        print_ffts(ffts)
    if idle := of(rows, "idle"):
        print_idle(idle)
    for row in of(rows, "missing"):
        print(f"\nMISSING: {row['rival']}: {row['reason']}")
    for row in of(rows, "failed"):
        print(f"\nFAILED: {row['rival']} on {row['fabric']}, ranks {where(row)}: {row['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
