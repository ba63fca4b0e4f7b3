#!/usr/bin/env python3
"""Draws the flow chart of docs/performance.md: which.py > which.svg"""

INK, SOFT, BLUE, ORANGE, GREY = "#222222", "#666666", "#0072b2", "#d55e00", "#777777"
W, STEP, TOP = 960, 100, 20
QX, QW, AX, AW, BOX = 20, 400, 500, 440, 76

# Question, lines of the answer if it is yes, and whether that answer is ours, PETSc's or both
QUESTIONS = [
    (
        ["Is the matrix given without its entries", "(matrix-free)?"],
        ["A Krylov method of PETSc.", "petsc-bai needs the entries."],
        GREY,
    ),
    (["Is it a saddle point problem,", "or strongly indefinite?"], ["-pc_type fieldsplit, or a direct solver"], GREY),
    (
        ["Is there a hierarchy of grids (DMDA, …)?"],
        ["-pc_type mg, its smoother on a GPU", "PCBAI (see Smoothing), on the host sor"],
        ORANGE,
    ),
    (
        ["Is it elasticity of a thin body,", "or nearly incompressible?"],
        ["Compare -ksp_type bai with -pc_type gamg,", "its smoother on a GPU PCBAI (see Smoothing)"],
        ORANGE,
    ),
    (
        ["Do some rows have thousands of entries,", "as in power-law graphs?"],
        ["-ksp_type cg or gmres -pc_type jacobi"],
        GREY,
    ),
    (
        ["Does the diagonal dominate strongly,", "and do you work on the host?"],
        ["-ksp_type cg or gmres -pc_type jacobi or sor"],
        GREY,
    ),
]
LAST = ["-ksp_type bai", "No other option is needed."]
out = []


def text(x, y, s, size=15, anchor="middle", color=INK, weight="normal"):
    out.append(
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{color}"'
        f' font-weight="{weight}">{s}</text>'
    )


def box(x, y, w, h, lines, color, fill):
    out.append(
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}" stroke="{color}" stroke-width="1.5"/>'
    )
    for k, line in enumerate(lines):
        text(x + w / 2, y + h / 2 + 5 + 20 * (k - (len(lines) - 1) / 2), line)


def arrow(x1, y1, x2, y2, word, wx, wy):
    out.append(
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.5" marker-end="url(#arrow)"/>'
    )
    text(wx, wy, word, 14, color=SOFT)


for k, (question, answer, color) in enumerate(QUESTIONS):
    y = TOP + STEP * k
    box(QX, y, QW, BOX, question, INK, "#f5f7fa")
    box(AX, y, AW, BOX, answer, color, "white")
    arrow(QX + QW, y + BOX / 2, AX - 4, y + BOX / 2, "yes", (QX + QW + AX) / 2, y + BOX / 2 - 8)
    arrow(QX + QW / 2, y + BOX, QX + QW / 2, y + STEP - 4, "no", QX + QW / 2 + 18, y + BOX + 17)
y = TOP + STEP * len(QUESTIONS)
box(QX, y, QW, BOX, LAST, BLUE, "#e8f1f8")
text(AX, y + 22, "Blue: petsc-bai. Orange: PETSc's multigrid with our smoother.", 14, "start", SOFT)
text(AX, y + 42, "Grey: PETSc alone.", 14, "start", SOFT)

H = y + BOX + 20
print(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" viewBox="0 0 {W} {H}" font-family="DejaVu Sans,'
    ' Arial, sans-serif">'
)
print(
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    f' orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker></defs>'
)
print(f'<rect width="{W}" height="{H}" fill="white"/>')
print("\n".join(out))
print("</svg>")
