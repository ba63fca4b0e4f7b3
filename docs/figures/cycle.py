#!/usr/bin/env python3
"""Draws the figure of docs/multigrid.md: cycle.py > cycle.svg"""

COLORS = ["#0072b2", "#d55e00", "#009e73", "#9b59b6"]
INK, SOFT = "#222222", "#666666"
out = []


def text(x, y, s, size=14, anchor="start", color=INK, weight="normal"):
    out.append(
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{color}" '
        f'font-weight="{weight}">{s}</text>'
    )


def dot(x, y, r, color):
    out.append(f'<circle cx="{x}" cy="{y}" r="{r}" fill="{color}"/>')


def box(x, y, side, color, width, r=6):
    out.append(
        f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="{r}" fill="none" stroke="{color}"'
        f' stroke-width="{width}"/>'
    )


def arrow(x1, y1, x2, y2):
    out.append(
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.5" marker-end="url(#arrow)"/>'
    )


def level(x0, y0, n, spacing, blocks):
    """A grid of n x n rows, their aggregates of 2 x 2, and blocks x blocks blocks in colours"""
    for i in range(n):
        for j in range(n):
            dot(x0 + i * spacing, y0 + j * spacing, 5, COLORS[i * blocks // n + 2 * (j * blocks // n)])
    if n > 2:
        for i in range(0, n, 2):
            for j in range(0, n, 2):
                box(x0 + i * spacing - 9, y0 + j * spacing - 9, spacing + 18, SOFT, 1)
    side = (n // blocks - 1) * spacing + 26
    for i in range(blocks):
        for j in range(blocks):
            step = n // blocks * spacing
            box(x0 + i * step - 13, y0 + j * step - 13, side, COLORS[i + 2 * j], 2, 9)


out.append(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 404" font-family="DejaVu Sans, Arial, sans-serif">'
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    f'<path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs><rect width="960" height="404" fill="white"/>'
)
text(24, 34, "Levels", 18, weight="bold")
text(24, 60, "Dots are rows, grey boxes aggregates, coloured frames blocks.", 16, color=SOFT)
level(48, 104, 8, 30, 2)
level(366, 149, 4, 40, 1)
level(566, 189, 2, 40, 1)
arrow(285, 209, 338, 209)
arrow(512, 209, 540, 209)
for x, title, more in (
    (153, "A", "the matrix"),
    (426, "PᴴAP", "overcorrected"),
    (586, "PᴴAP", "solved exactly"),
):
    text(x, 368, title, 17, "middle", weight="bold")
    text(x, 390, more, 16, "middle", SOFT)
text(660, 34, "Cycle", 18, weight="bold")
text(660, 60, "Dots smooth, or solve exactly.", 16, color=SOFT)
path = [0, 1, 2, 3, 2, 1, 2, 3, 2, 1, 0]
place = [(676 + 26 * k, 110 + 66 * depth) for k, depth in enumerate(path)]
for (x1, y1), (x2, y2) in zip(place, place[1:]):
    dx, dy = (x2 - x1) * 0.14, (y2 - y1) * 0.14
    arrow(x1 + dx, round(y1 + dy, 2), round(x2 - dx, 2), round(y2 - dy, 2))
for x, y in place:
    dot(x, y, 6, COLORS[0])
text(806, 346, "↘ residual    ↗ correction", 16, "middle", SOFT)
text(806, 368, "Large levels 1, 3, ... are", 16, "middle", SOFT)
text(806, 390, "visited twice.", 16, "middle", SOFT)
out.append("</svg>")
print("\n".join(out))
