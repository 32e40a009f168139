#!/usr/bin/env python3
"""Compares what the program `statistics` says about a CSV file with what NumPy and SciPy say.

RESULT is its output with --json; DEVIATIONS is what --deviations wrote. Prints one line, and exits with 1 when a count
differs at all, or any other statistic by more than the tolerance.
"""

import argparse
import csv
import json

import numpy as np
from scipy import stats
from scipy.spatial import distance

MISSING = ("", "na", "n/a", "nan", "null")


def read_columns(path: str, names: list[str]) -> dict[str, np.ndarray]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(field.strip() for field in row) or len(row) > 1]
    head = [field.strip() for field in rows[0]]
    places = {name: head.index(name) if name in head else int(name) - 1 for name in names}
    body = rows[1:] if set(names) & set(head) else rows
    return {name: np.array([float("nan") if row[at].strip().lower() in MISSING else float(row[at]) for row in body])
            for name, at in places.items()}


class Comparison:
    """The largest difference so far, and what it was of."""

    def __init__(self) -> None:
        self.worst, self.where = 0.0, "nothing"

    def add(self, what: str, found, expected, scale=None) -> None:
        """Relative to `scale`, or to what is expected. None is nothing, as NaN is."""
        found = np.array([np.nan if value is None else value for value in np.ravel(found)], dtype=float)
        expected = np.asarray(expected, dtype=float).ravel()
        difference = np.inf
        if found.shape == expected.shape and np.array_equal(np.isnan(found), np.isnan(expected)):
            size = np.maximum(np.abs(expected) if scale is None else scale, 1e-300)
            difference = np.nanmax(np.abs(found - expected) / size, initial=0)
        if difference > self.worst:
            self.worst, self.where = float(difference), what


def compare_column(to: Comparison, column: dict, all_values: np.ndarray, threshold: float) -> None:
    name, values = column["name"], all_values[~np.isnan(all_values)]
    to.add(f"{name}: counts", [column["count"], column["missing"]], [values.size, all_values.size - values.size], 1e-12)
    if values.size < 2 or np.ptp(values) == 0:
        return
    deviation = values.std(ddof=1)
    to.add(f"{name}: extremes", [column["minimum"], column["maximum"]], [values.min(), values.max()], 1e-12 * deviation)
    to.add(f"{name}: mean", column["mean"], values.mean(), deviation)
    to.add(f"{name}: variance", column["variance"], values.var(ddof=1))
    to.add(f"{name}: standard deviation", column["standard_deviation"], deviation)
    to.add(f"{name}: skewness", column["skewness"], stats.skew(values), 1)
    to.add(f"{name}: kurtosis", column["kurtosis"], stats.kurtosis(values), 1 + abs(stats.kurtosis(values)))
    for power in (2, 3, 4):
        moment = ((values - values.mean())**power).sum()
        to.add(f"{name}: m{power}", column[f"m{power}"], moment, values.size * deviation**power)
    counts, edges = np.histogram(values, bins=len(column["histogram"]["counts"]))
    to.add(f"{name}: histogram", column["histogram"]["counts"], counts, 1e-12)
    to.add(f"{name}: ends of the histogram", [column["histogram"]["low"], column["histogram"]["high"]], edges[[0, -1]])
    scores = np.abs(stats.zscore(values, ddof=1))
    to.add(f"{name}: outliers", column["deviations"]["outliers"], (scores > threshold).sum(), 1e-12)
    to.add(f"{name}: largest deviation", column["deviations"]["largest"], scores.max())


def compare_covariance(to: Comparison, found: dict, table: np.ndarray) -> None:
    complete = table[~np.isnan(table).any(axis=1)]
    to.add("complete rows", found["complete_rows"], len(complete), 1e-12)
    covariance = np.atleast_2d(np.cov(complete, rowvar=False))
    deviations = np.sqrt(np.diag(covariance))
    to.add("covariance", found["covariance"], covariance, np.outer(deviations, deviations).ravel())
    to.add("correlation", found["correlation"], np.corrcoef(complete, rowvar=False), 1)


def standard_scores(values: np.ndarray) -> np.ndarray:
    """A value that never varies does not deviate; SciPy leaves that open."""
    if np.nanmin(values) == np.nanmax(values):
        return values - np.nanmin(values)
    return stats.zscore(values, ddof=1, nan_policy="omit")


def compare_deviations(to: Comparison, found: dict, table: np.ndarray, path: str) -> None:
    with open(path, newline="", encoding="utf-8") as file:
        rows = [[float(field) if field else float("nan") for field in row] for row in list(csv.reader(file))[1:]]
    written = np.array(rows)
    scores = np.column_stack([standard_scores(values) for values in table.T])
    to.add("standard scores", written[:, :-1], scores, 1)
    if found["mahalanobis"] is None:
        return
    complete = table[~np.isnan(table).any(axis=1)]
    inverse = np.linalg.inv(np.atleast_2d(np.cov(complete, rowvar=False)))
    expected = distance.cdist(table, complete.mean(axis=0)[np.newaxis], "mahalanobis", VI=inverse).ravel()
    to.add("Mahalanobis' distances", written[:, -1], expected, 1)
    beyond = (expected > found["threshold"]).sum()
    to.add("outliers by Mahalanobis' distance", found["mahalanobis"]["outliers"], beyond, 1e-12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("result")
    parser.add_argument("deviations")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="largest relative difference")
    arguments = parser.parse_args()

    with open(arguments.result, encoding="utf-8") as file:
        found = json.loads(file.read().splitlines()[-1])
    columns = read_columns(arguments.file, [column["name"] for column in found["columns"]])
    comparison = Comparison()
    comparison.add("rows", found["rows"], len(next(iter(columns.values()))), 1e-12)
    for column in found["columns"]:
        compare_column(comparison, column, columns[column["name"]], found["threshold"])
    table = np.column_stack(list(columns.values()))
    compare_covariance(comparison, found, table)
    compare_deviations(comparison, found, table, arguments.deviations)
    good = comparison.worst <= arguments.tolerance
    print(f"{'ok' if good else 'DIFFERENT'}: largest difference {comparison.worst:.3e}, of {comparison.where}")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
