#!/usr/bin/env python3
"""Writes pyamg's example "bar" (a bar under load, linear elasticity in three dimensions) as a Matrix Market file.

The matrix comes with the pyamg package, so this needs no network. It is symmetric and positive definite.
"""

import argparse
from pathlib import Path

from pyamg.gallery import load_example
from scipy.sparse import tril


def write_symmetric(matrix, path: Path, comment: str) -> None:
    """Writes the lower triangle, column by column, each value with all its digits."""
    lower = tril(matrix.tocsc(), format="coo")
    with path.open("w", encoding="ascii") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n")
        file.write(f"% {comment}\n")
        file.write(f"{lower.shape[0]} {lower.shape[1]} {lower.nnz}\n")
        for row, column, value in zip(lower.row, lower.col, lower.data):
            file.write(f"{row + 1} {column + 1} {value:.17g}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="the file to write, for example bar.mtx")
    path = parser.parse_args().path
    matrix = load_example("bar")["A"]
    asymmetry = abs(matrix - matrix.T).max()
    if asymmetry > 1e-12 * abs(matrix).max():
        raise SystemExit(f"bar is not symmetric: entries differ from their mirror by up to {asymmetry}")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: whoever sees the file sees it whole.
    unfinished = path.with_name(path.name + ".part")
    write_symmetric(matrix, unfinished, 'the example "bar" of pyamg: linear elasticity')
    unfinished.replace(path)
    print(f"{path}: {matrix.shape[0]} rows, {matrix.nnz} entries")


if __name__ == "__main__":
    main()
