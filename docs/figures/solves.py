#!/usr/bin/env python3
"""Draws the times of set-up and one solve in docs/data/multigrid.csv: solves.py > solves.svg"""
import math
import os
import sys

INK, SOFT, GRID = "#222222", "#666666", "#e3e6ea"
ROWS = [
    ("laplace3d", 10**6, "7 points, 100³"),
    ("laplace3d", 8 * 10**6, "7 points, 200³"),
    ("laplace3d", 27 * 10**6, "7 points, 300³"),
    ("fv3", 10**6, "9 points, 1000²"),
    ("fv3", 4 * 10**6, "9 points, 2000²"),
    ("fv3", 16 * 10**6, "9 points, 4000²"),
    ("laplace3d27", 10**6, "27 points, 100³"),
    ("anisotropic", 250000, "anisotropic 100:1, 500²"),
    ("jumps", 64**3, "coefficients that jump, 64³"),
    ("jumps", 128**3, "coefficients that jump, 128³"),
    ("lognormal.mtx", 561000, "log-normal coefficients"),
    ("tetrahedra.mtx", 262144, "linear tetrahedra"),
    ("quadratic.mtx", 201262, "quadratic tetrahedra"),
    ("graded.mtx", 490000, "graded grid"),
    ("turned.mtx", 250000, "turned anisotropy"),
]
WAYS = [
    ("-ksp_type bai", ["bai"], "#0072b2"),
    ("hypre's CG with BoomerAMG, the better of two", ["hypre", "hypre-aggressive"], "#d55e00"),
    ("CG with GAMG, where it was measured", ["gamg"], "#009e73"),
]
W, LEFT, RIGHT, TOP, STEP = 960, 250, 30, 70, 34
LEAST, MOST = 3, 8000  # ms
out = []

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.chdir(root)
sys.dont_write_bytecode = True
sys.path.insert(0, "tests")
from figures import MULTIGRID, spent

found = {(row["matrix"], int(row["n"]), row["way"]): spent(row) for row in MULTIGRID}


def text(x, y, s, size=14, anchor="start", color=INK):
    out.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}">{s}</text>')


def across(ms):
    return LEFT + (W - LEFT - RIGHT) * math.log(ms / LEAST) / math.log(MOST / LEAST)


def mark(x, y, way):
    color = WAYS[way][2]
    if way == 0:
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{color}"/>')
    elif way == 1:
        out.append(f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" fill="{color}"/>')
    else:
        out.append(f'<path d="M{x:.1f},{y - 8:.1f} l8,8 l-8,8 l-8,-8 z" fill="{color}"/>')


x = 20
for way, (name, _, _) in enumerate(WAYS):
    mark(x + 8, 22, way)
    text(x + 22, 27, name)
    x += 40 + 8 * len(name)
bottom = TOP + STEP * len(ROWS)
for ms in (10, 100, 1000):
    out.append(
        f'<line x1="{across(ms):.1f}" y1="{TOP - 16}" x2="{across(ms):.1f}" y2="{bottom - 10}" stroke="{GRID}"'
        ' stroke-width="1.5"/>'
    )
    text(across(ms), bottom + 10, f"{ms} ms", 13, "middle", SOFT)
for k, (matrix, n, name) in enumerate(ROWS):
    y = TOP + STEP * k
    text(LEFT - 20, y + 5, name, 14, "end")
    times = [
        min((found[matrix, n, key] for key in keys if (matrix, n, key) in found), default=None) for _, keys, _ in WAYS
    ]
    known = [across(ms) for ms in times if ms]
    out.append(
        f'<line x1="{min(known):.1f}" y1="{y}" x2="{max(known):.1f}" y2="{y}" stroke="{SOFT}" stroke-width="1"/>'
    )
    for way, ms in enumerate(times):
        if ms:
            mark(across(ms), y, way)
text(LEFT, bottom + 34, "set-up and one solve to 1e-10 (coefficients that jump: 1e-6), one H100", 13, "start", SOFT)

H = bottom + 48
print(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" viewBox="0 0 {W} {H}" font-family="DejaVu Sans,'
    ' Arial, sans-serif">'
)
print(f'<rect width="{W}" height="{H}" fill="white"/>')
print("\n".join(out))
print("</svg>")
