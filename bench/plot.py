#!/usr/bin/env python3
"""Draws residual over time for each matrix and solver: plot.py HISTORY.csv PICTURE.png

HISTORY.csv comes from bench -over_time. Each point is a solve of its own, set-up not counted."""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLES = {
    "bai": "o-",
    "richardson": "s:",
    "cg": "^--",
    "pipecg": "v--",
    "resident": "<--",
    "chebyshev": "d-.",
    "chebyshev4": "D-.",
}


def read(filename):
    """{(matrix, n): {solver: ([ms], [residual])}}, in the order of the file"""
    matrices = {}
    with open(filename, newline="") as file:
        for row in csv.DictReader(file):
            solvers = matrices.setdefault((row["matrix"], int(row["n"])), {})
            ms, residual = solvers.setdefault(row["solver"], ([], []))
            ms.append(1e3 * float(row["seconds"]))
            residual.append(float(row["residual"]))
    return matrices


def draw(matrices, filename):
    names = list(dict.fromkeys(name for solvers in matrices.values() for name in solvers))
    colors = {name: plt.get_cmap("tab20")((2 * k) % 20 + (k >= 10)) for k, name in enumerate(names)}
    columns = min(2, len(matrices))
    rows = -(-len(matrices) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(7 * columns, 4.5 * rows), squeeze=False)
    for ax, ((matrix, n), solvers) in zip(axes.flat, matrices.items()):
        for name, (ms, residual) in solvers.items():
            ax.loglog(
                ms, residual, STYLES[name.split("-")[0]], color=colors[name], label=name, markersize=4, linewidth=1.2
            )
        ax.set_title(f"{matrix.rsplit('/', 1)[-1]}, n = {n}")
        ax.set_xlabel("time of the solve, ms")
        ax.set_ylabel("||b - A x|| / ||b||")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7)
    for ax in axes.flat[len(matrices) :]:
        ax.axis("off")
    figure.tight_layout()
    figure.savefig(filename, dpi=120)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    matrices = read(sys.argv[1])
    if not matrices:
        sys.exit(f"{sys.argv[1]} has no solve that succeeded")
    draw(matrices, sys.argv[2])
