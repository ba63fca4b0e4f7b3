#!/usr/bin/env python3
"""Draws the figure of docs/relaxation.md: blocks.py > blocks.svg"""

COLORS = ["#0072b2", "#d55e00", "#009e73", "#9b59b6"]
NAMES = "ABCD"
GREY, INK, SOFT = "#b8b8b8", "#222222", "#666666"
W, H = 960, 900
out = []


def text(x, y, s, size=14, anchor="start", color=INK, weight="normal", style="normal"):
    out.append(
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}"'
        f' font-style="{style}">{s}</text>'
    )


def rect(x, y, w, h, fill, stroke="none", width=1, opacity=1, r=0):
    out.append(
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{r}" fill="{fill}" fill-opacity="{opacity}"'
        f' stroke="{stroke}" stroke-width="{width}"/>'
    )


def line(x1, y1, x2, y2, color=INK, width=1.5, arrow=False, dash=""):
    out.append(
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="{width}"'
        + (f' stroke-dasharray="{dash}"' if dash else "")
        + (' marker-end="url(#arrow)"' if arrow else "")
        + "/>"
    )


def matrix(x0, y0, cell):
    """The five-point Laplacian of a 4 x 4 grid, numbered line by line, in blocks of four rows"""
    n = 16
    rect(x0, y0, n * cell, n * cell, "white", "#cccccc")
    for i in range(n):
        for j in range(n):
            near = abs(i - j) == 1 and i // 4 == j // 4
            if not (near or i == j or abs(i - j) == 4):
                continue
            rect(
                x0 + j * cell + 1.5,
                y0 + i * cell + 1.5,
                cell - 3,
                cell - 3,
                COLORS[i // 4] if near or i == j else GREY,
                opacity=1 if near or i != j else 0.45,
            )
    for k in range(4):
        rect(x0 + 4 * k * cell, y0 + 4 * k * cell, 4 * cell, 4 * cell, "none", COLORS[k], 1.5)
        text(x0 - 14, y0 + (4 * k + 2) * cell + 5, NAMES[k], 15, "middle", COLORS[k], "bold")
    rect(x0 - 3, y0 + 4 * cell - 1, n * cell + 6, 4 * cell + 2, "none", INK, 2, r=3)


def vector(x0, y0, cell, name):
    for k in range(4):
        rect(x0, y0 + 4 * k * cell, cell, 4 * cell, COLORS[k], "white", 1, 0.45)
    text(x0 + cell / 2, y0 - 8, name, 15, "middle", style="italic")


def step(y, number, title, lines):
    rect(420, y, 520, 80, "#f5f7fa", "#d5dbe3", r=8)
    out.append(f'<circle cx="446" cy="{y + 27}" r="14" fill="{COLORS[1]}"/>')
    text(446, y + 32, number, 15, "middle", "white", "bold")
    text(472, y + 24, title, 15, weight="bold")
    for k, s in enumerate(lines):
        text(472, y + 46 + 20 * k, s, 14, color="#333333")


def lanes(x0, y0, title, subtitle, bars, extras=None):
    """bars[k]: (start, end) of the iterations of block k"""
    rect(x0, y0, 450, 212, "white", "#d5dbe3", r=8)
    text(x0 + 14, y0 + 24, title, 15, weight="bold")
    text(x0 + 14, y0 + 44, subtitle, 13, color=SOFT)
    for k in range(4):
        y = y0 + 60 + 32 * k
        text(x0 + 20, y + 17, NAMES[k], 14, "middle", COLORS[k], "bold")
        for it, (start, end) in enumerate(bars[k]):
            rect(x0 + 34 + start, y, end - start - 2, 24, COLORS[k], r=4, opacity=0.85)
            text(x0 + 34 + (start + end - 2) / 2, y + 17, it + 1, 13, "middle", "white", "bold")
    line(x0 + 34, y0 + 192, x0 + 430, y0 + 192, SOFT, 1, True)
    text(x0 + 436, y0 + 206, "time", 12, "end", SOFT)
    if extras:
        extras(x0 + 34, y0 + 60)


def chain(lengths, start=0):
    bars = []
    for n in lengths:
        bars.append((start, start + n))
        start += n
    return bars


out.append(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" viewBox="0 0 {W} {H}" font-family="Helvetica,'
    ' Arial, sans-serif">'
)
out.append(
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    f' orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>'
)
rect(0, 0, W, H, "white")

text(20, 30, "One global iteration of block B", 18, weight="bold")
matrix(40, 78, 17)
text(40 + 8 * 17, 70, "A", 15, "middle", style="italic")
vector(328, 78, 17, "x")
vector(362, 78, 17, "b")
text(40, 376, "coloured: inside the blocks", 13, color=SOFT)
text(40, 394, "grey: outside the blocks", 13, color=SOFT)
step(
    78,
    "1",
    "Read, once",
    ["s = b − the grey entries of B&#39;s rows times x,", "with what the other blocks have written by then"],
)
step(
    174,
    "2",
    "Sweep, local_iters times",
    ["Jacobi sweeps with the coloured entries of B only;", "s stays as it is, all data are in fast memory"],
)
step(270, "3", "Write, once", ["B&#39;s part of x goes back to memory,", "where the other blocks find it"])

text(20, 432, "Who waits for whom: four blocks, the numbers are their global iterations", 18, weight="bold")


def stale(x, y):
    line(x + 129, y + 34, x + 201, y + 22, INK, 1.5, True)
    line(x + 202, y - 4, x + 202, y + 122, INK, 1, dash="3 3")


def barriers(x, y):
    for t in (128, 256, 384):
        line(x + t - 1, y - 4, x + t - 1, y + 122, INK, 2.5)


def turns(x, y):
    for k in range(3):
        for t in (92, 184, 276) if k % 2 == 0 else (184, 276):
            line(x + t - 3, y + 32 * k + 24, x + t - 3, y + 32 * k + 32, INK, 1.2)


lanes(
    20,
    448,
    "async: nobody waits",
    "At the dotted line A has done 3, B only 1: A is ahead by 2.",
    [chain([62, 70, 68, 60, 64, 60]), chain([130, 124, 126]), chain([80, 86, 78, 84, 60]), chain([70, 76, 72, 80, 84])],
    stale,
)
lanes(
    490,
    448,
    "launch: a barrier after each iteration",
    "All wait for the slowest; fresh values only by chance.",
    [
        [(0, 62), (128, 198), (256, 320)],
        [(0, 80), (128, 214), (256, 334)],
        [(0, 128), (128, 250), (256, 382)],
        [(0, 70), (128, 200), (256, 330)],
    ],
    barriers,
)
lanes(
    20,
    674,
    "sync: each reads exactly the iterate before",
    "A block waits for its neighbours only. Same bits every time.",
    [
        [(0, 90), (90, 180), (210, 300)],
        [(0, 90), (120, 210), (240, 330)],
        [(0, 120), (120, 240), (240, 360)],
        [(0, 90), (120, 210), (240, 330)],
    ],
)
lanes(
    490,
    674,
    "color: neighbours take turns",
    "A and C, then B and D, with new values. Same bits every time.",
    [[(0, 92), (184, 276)], [(92, 184), (276, 368)], [(0, 92), (184, 276)], [(92, 184), (276, 368)]],
    turns,
)
out.append("</svg>")
print("\n".join(out))
