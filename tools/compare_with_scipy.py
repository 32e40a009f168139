#!/usr/bin/env python3
"""Compares a solution of A x = b, both Matrix Market files, with SciPy's direct solution.

Prints one line, and exits with 1 when any element differs by more than the tolerance or the residual is too large.
"""

import argparse

import numpy as np
from scipy.io import mmread
from scipy.sparse import csc_matrix, issparse
from scipy.sparse.linalg import spsolve


def read_vector(path: str) -> np.ndarray:
    data = mmread(path)
    return np.asarray(data.todense() if issparse(data) else data, dtype=float).ravel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrix")
    parser.add_argument("solution")
    parser.add_argument("--rhs", help="right-hand side (default: all ones)")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="largest difference of an element")
    parser.add_argument("--residual", type=float, default=1e-8, help="largest relative residual")
    args = parser.parse_args()

    matrix = csc_matrix(mmread(args.matrix))
    rhs = read_vector(args.rhs) if args.rhs else np.ones(matrix.shape[0])
    solution = read_vector(args.solution)
    if solution.shape != rhs.shape:
        raise SystemExit(f"{args.solution} has {solution.size} elements, not {rhs.size}")
    difference = np.abs(solution - spsolve(matrix, rhs)).max()
    residual = np.linalg.norm(rhs - matrix @ solution) / np.linalg.norm(rhs)
    good = bool(difference <= args.tolerance and residual <= args.residual)
    print(f"{'ok' if good else 'DIFFERENT'}: largest difference {difference:.3e}, relative residual {residual:.3e}")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
