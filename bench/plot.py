#!/usr/bin/env python3
"""Draws residual over time for each matrix and solver: plot.py HISTORY.csv PICTURE.png

HISTORY.csv comes from bench -over_time. Each point is a solve of its own, set-up not counted. From the file of ranks
-csv it draws the times of more than one process over those of one."""
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


# Colours that the colour-blind tell apart, by the names of bench/ranks
RANKS = {
    "dk": ("#0072B2", "o-"),
    "auto": ("#0072B2", "o-"),
    "dc": ("#009E73", "s-"),
    "amc": ("#CC79A7", "v--"),
    "scatter": ("#000000", "x--"),
    "cg": ("#D55E00", "^:"),
    "chebyshev": ("#E69F00", "D:"),
    "set-up": ("#009E73", "s-"),
    "solve": ("#D55E00", "^-"),
    "both": ("#0072B2", "o-"),
}
GROWING = ("weak", "levels-weak", "gamg")  # the size is that of one GPU's part


def draw_ranks(rows, filename):
    """A part of the benchmark and a size in each picture, a line for each solver; dotted is what no loss would be"""
    pictures = {}
    for row in rows:
        if float(row["ratio"]) > 0:
            lines = pictures.setdefault((row["part"], row["system"], int(row["n"])), {})
            lines.setdefault(row["what"], []).append((int(row["ranks"]), float(row["ratio"])))
    pictures = {key: lines for key, lines in pictures.items() if key[0] not in ("solve", "modes")}
    columns = min(2, len(pictures))
    figure, axes = plt.subplots(
        -(-len(pictures) // columns),
        columns,
        figsize=(4.5 * columns, 3.6 * -(-len(pictures) // columns)),
        squeeze=False,
    )
    for ax, ((part, system, n), lines) in zip(axes.flat, pictures.items()):
        counts = sorted({ranks for points in lines.values() for ranks, _ in points})
        ax.loglog(counts, [1 if part in GROWING else 1 / ranks for ranks in counts], "k:", linewidth=1)
        for what, points in lines.items():
            points = [(1, 1.0)] + [point for point in points if point[0] > 1]
            color, style = RANKS.get(what, ("#56B4E9", "+--"))
            ax.loglog(*zip(*points), style, color=color, label=what, markersize=4, linewidth=1.2)
        ax.minorticks_off()
        ax.set_xticks(counts, [str(ranks) for ranks in counts])
        ratios = [ratio for points in lines.values() for _, ratio in points] + [
            1,
            1 if part in GROWING else 1 / counts[-1],
        ]
        ticks = [
            tick for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5) if min(ratios) / 1.3 < tick < max(ratios) * 1.3
        ]
        ax.set_ylim(min(ratios) / 1.2, max(ratios) * 1.2)
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_title(f"{part}, {system} {n}^3")
        ax.set_xlabel("GPUs")
        ax.set_ylabel("time over that of one")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7)
    for ax in axes.flat[len(pictures) :]:
        ax.axis("off")
    figure.tight_layout()
    figure.savefig(filename, dpi=100)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and "part" in rows[0]:
        draw_ranks(rows, sys.argv[2])
        sys.exit()
    matrices = read(sys.argv[1])
    if not matrices:
        sys.exit(f"{sys.argv[1]} has no solve that succeeded")
    draw(matrices, sys.argv[2])
