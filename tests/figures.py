#!/usr/bin/env python3
"""Compares the figures of README.md and of pages in docs/ with the data files: figures.py [--write]

docs/data/figures.txt lists the measured figures in prose, a line for each phrase: PAGE | PHRASE | SOURCE; SOURCE ...
A source is an expression of the functions below, one for each figure of the phrase, in their order; `chosen` stands for
a number that was not measured, and alone for all of the phrase. A phrase must stand on its page, and a figure is right
if its source rounds to it. On the pages of that list a number in prose with a decimal point, or before a unit of time,
of memory or of speed, is an error if no phrase has it.
Not looked at are code, formulas, and numbers that are a size (1000², 20000 rows), a tolerance (1e-10) or a version
(PETSc 3.18).

A table with measured figures follows a comment <!-- table NAME -->. It is made from a data file: from that of a
function in TABLES, or from the rows of that name in docs/data/measured.csv. --write makes all of them anew. A table
without such a comment that has a measured figure is an error.
"""
import csv
import re
import sys

sys.dont_write_bytecode = True
from checkdocs import text_of

LIST = "docs/data/figures.txt"
NUMBER = (
    r"(?<![\w.^⁻/])(?<!1e-)(?<!PETSc )(?<!CUDA )(?<!capability )(?:\d+(?:\.\d+)?|\.\d+)(?![\w.]*[\d⁰¹²³⁴-⁹])"
    r"(?!e-)(?! (?:million )?rows| points| entries| processes|:)"
)
UNIT = r" (?:ms|µs|s|MB|times|of the time)\b"


def read(name):
    with open(f"docs/data/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


BENCH, CHIP, MEASURED = map(read, ("bench", "chip", "measured"))
MULTIGRID, AMGX = map(read, ("multigrid", "amgx"))


def one(rows, **wanted):
    found = [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows with {wanted}")
    return found[0]


for row in MULTIGRID:
    if row["way"].startswith("hypre"):  # its set-up was done twice, and neither is always the shorter one
        row["setup_ms"] = min(row["setup_ms"], row["cold_ms"], key=float)


def multigrid(matrix, n, way, column="later_ms"):
    """A column of multigrid.csv"""
    return float(one(MULTIGRID, matrix=matrix, n=n, way=way)[column])


def measured(table, row, column):
    """A figure of measured.csv"""
    return float(one(MEASURED, table=table, row=row, column=column)["value"])


def newton(place, solver, column="ms"):
    """A column of an experiment with Newton's method"""
    return float(
        [row for row in read(f"experiments/{place}/newton") if row["solver"] == solver and row["ms"]][0][column]
    )


def digits(ms):
    return f"{ms:.1f}" if ms < 99.95 else f"{ms:.0f}"


SYSTEMS = {
    "laplace3d": "7 points, {}³",
    "fv3": "9 points, {}²",
    "laplace3d27": "27 points, {}³",
    "anisotropic": "anisotropic 100:1, {}²",
    "jumps": "jumps of 10⁶, {}³, to 1e-6",
    "powerlaw": "power-law graph, {} rows",
    "fv1": "strongly dominant diagonal (fv1), {}²",
    "elasticity": "elasticity, {} rows, to 1e-8",
    "convection2d": "convection and diffusion, {}²",
    "lognormal.mtx": "log-normal coefficients, {} rows",
    "graded.mtx": "graded grid, {} rows",
    "turned.mtx": "turned anisotropy, {} rows",
    "tetrahedra.mtx": "linear tetrahedra, {} rows",
    "quadratic.mtx": "quadratic tetrahedra, {} rows",
}


def spent(row):
    return float(row["setup_ms"]) + float(row["later_ms"])


def cell(row, setup="setup_ms", later="later_ms", its="iterations"):
    if row.get("reason", "").startswith("DIVERGED") and float(row["residual"]) > 10 * float(row["rtol"]):
        return "–"
    short = lambda ms: f"{ms:.2g}" if ms < 1 else digits(ms)
    before = f"{short(float(row[setup]))}\u00a0+\u00a0" if float(row[setup]) > 0.1 else ""
    return f"{before}{short(float(row[later]))}, {row[its]}"


def one_gpu():
    """Set-up + solve of each system by each kind of solver"""
    kinds = {
        "`-ksp_type bai`": ["bai"],
        "CG with `baimg`": ["baimg"],
        "hypre": ["hypre", "hypre-aggressive"],
        "CG with GAMG": ["gamg"],
        "CG with Jacobi": ["jacobi"],
    }
    systems = dict.fromkeys((row["matrix"], row["n"]) for row in MULTIGRID if row["matrix"] in SYSTEMS)
    lines = [["", *kinds, "ratio"]]
    for matrix, n in sorted(systems, key=lambda system: (list(SYSTEMS).index(system[0]), int(system[1]))):
        rows = [row for row in MULTIGRID if (row["matrix"], row["n"]) == (matrix, n)]
        best = {
            kind: min((row for row in rows if row["way"] in ways), key=spent, default=None)
            for kind, ways in kinds.items()
        }
        text = [row and cell(row) or "" for row in best.values()]
        others = [row for row in list(best.values())[2:] if row and cell(row) != "–"]
        over = f"{spent(best['`-ksp_type bai`']) / min(map(spent, others)):.2f}" if others else ""
        if [row["way"] for row in others] == ["jacobi"]:
            over += " (Jacobi)"
        lines.append([title(matrix, int(n))] + text + [over])
    return lines


def title(matrix, n):
    text = SYSTEMS[matrix].replace(" points", "\u00a0points")
    return text.format(n if "rows" in text else round(n ** (1 / 3 if "³" in text else 0.5)))


def amgx():
    """The best of AmgX's configurations by set-up and solve, and ours of the same run"""
    names = {"lap3d": "7\u00a0points,\u00a0{}³", "nine": "9\u00a0points,\u00a0{}²"}
    time = lambda row: float(row["setup_warm_ms"]) + float(row["later_solve_ms"])
    shown = lambda row: cell(row, "setup_warm_ms", "later_solve_ms", "its")
    lines = [["", "`-ksp_type bai`", "CG with `baimg`", "AmgX", "its configuration", "ratio"]]
    for system in dict.fromkeys(row["system"] for row in AMGX):
        rows = {row["solver"]: row for row in AMGX if row["system"] == system}
        bai, baimg = (rows.pop(f"petsc-bai {way}", None) for way in ("bai", "cg -pc_type baimg"))
        best = min(rows.values(), key=time, default=None)
        if bai and best:
            name, side = system.split()
            configuration = f"`{best['solver'].split()[1]}`"
            ratio = f"{time(bai) / time(best):.2f}"
            lines.append([names[name].format(side), shown(bai), shown(baimg), shown(best), configuration, ratio])
    return lines


def chip():
    lines = [["matrix, rows", "CG", "`-ksp_type bai`", "bai over CG"]]
    for matrix, n in CHIP_SYSTEMS:
        by = {
            row["what"]: row
            for row in CHIP
            if row["matrix"].replace(".mtx", "") == matrix and row["n"] == str(n) and row["rtol"]
        }
        us = lambda what: (lambda t: f"{t:.0f}" if t >= 99.95 else f"{t:.1f}")(1e6 * float(by[what]["seconds"]))
        lines.append(
            [f"{matrix}, {n}"]
            + [f"{us(what)}, {by[what]['iterations']}" for what in ("cg", "bai")]
            + [f"{float(by['bai']['seconds']) / float(by['cg']['seconds']):.3f}"]
        )
    return lines


CHIP_SYSTEMS = [
    ("fv1", 9604),
    ("fv3", 9801),
    ("trefethen", 2000),
    ("trefethen", 20000),
    ("Chem97ZtZ", 2541),
    ("helmholtz", 10000),
    ("anisotropic", 10000),
    ("laplace3d", 110592),
    ("powerlaw", 20000),
    ("bodyy4", 17546),
    ("laplace3d27", 64000),
]
TABLES = {
    "one GPU": one_gpu,
    "AmgX": amgx,
    "chip": chip,
}


def made(name):
    """The lines of a table"""
    rows = [row for row in MEASURED if row["table"] == name]
    if name in TABLES:
        lines = TABLES[name]()
    elif rows:
        columns = list(dict.fromkeys(row["column"] for row in rows))
        lines = [[rows[0]["heading"]] + columns]
        for label in dict.fromkeys(row["row"] for row in rows):
            by = {row["column"]: row["value"] for row in rows if row["row"] == label}
            lines.append([label] + [by.get(column, "") for column in columns])
    else:
        raise LookupError(f"no table {name} in docs/data/measured.csv")
    text = [re.sub(" +", " ", "| " + " | ".join(line) + " |") for line in lines]
    return [text[0], "|" + "---|" * len(lines[0])] + text[1:]


def tables(filename):
    """Number of the first line, name in the comment before it or None, and lines of each table no other script makes"""
    with open(filename, encoding="utf-8") as file:
        whole = file.read().split("\n")
    lines, start, other = dict(text_of(filename)), None, None
    for number, line in enumerate(whole + [""], 1):
        mark = re.fullmatch(r"<!-- (/?)([a-z]+) -->", line)
        other = mark[2] if mark and not mark[1] else None if mark else other
        if line.startswith("|") and lines.get(number) and not other:
            start = start or number
        elif start:
            before = re.fullmatch(r"<!-- table (.*) -->", whole[start - 2])
            yield start, before and before[1], whole[start - 1 : number - 1]
            start = None


FIGURE = r"\d\.\d|(?<![\d.])\.\d|\d+, \d|\d (?:ms|µs)\b"


def wrong_tables(filename):
    for start, name, lines in tables(filename):
        if not name:
            loose = [
                cell
                for line in lines
                for cell in line.split("|")
                if re.search(FIGURE, re.sub(r"`[^`]*`|\([^)]*\)", "", cell))
            ]
            if loose:
                yield f"{filename}:{start}: no source of a table with {loose[0].strip()}"
            continue
        try:
            if made(name) != lines:
                yield (
                    f"{filename}:{start}: table {name} is not what its data make of it: python3 tests/figures.py"
                    " --write"
                )
        except (LookupError, ValueError) as error:
            yield f"{filename}:{start}: {error}"


def write(filename):
    with open(filename, encoding="utf-8") as file:
        whole = file.read().split("\n")
    for start, name, lines in reversed(list(tables(filename))):
        if name:
            whole[start - 1 : start - 1 + len(lines)] = made(name)
    with open(filename, "w", encoding="utf-8") as file:
        file.write("\n".join(whole))


def prose(filename):
    """Number of the first line and text of each paragraph or item, without tables that scripts make"""
    with open(filename, encoding="utf-8") as file:
        whole = file.read().split("\n")
    start, inside, other = 0, [], None
    for number, line in [*text_of(filename), (len(whole), "")]:
        mark = re.fullmatch(r"<!-- (/?)([a-z]+) -->", whole[number - 1])
        other = mark[2] if mark and not mark[1] else None if mark else other
        if (other or not line.strip() or line.startswith(("#", "|")) or re.match(r"\s*[*-] ", line)) and inside:
            yield start, " ".join(inside)
            inside = []
        if line.strip() and not other and not line.startswith(("#", "|")):
            start = start if inside else number
            inside.append(line.strip())


def masked(text):
    """Without code, formulas and the targets of links, in place of which are as many other characters"""
    return re.sub(r"`[^`]*`|\$+[^$]*\$+|\]\([^)]*\)", lambda found: "_" * len(found[0]), text)


def listed():
    """Number of the line, page, phrase and sources of each line of the list"""
    with open(LIST, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                yield number, *(part.strip() for part in line.split(" | ", 2))


def wrong_phrases():
    for number, page, phrase, sources in listed():
        figures, sources = re.findall(NUMBER, masked(phrase)), [source.strip() for source in sources.split(";")]
        if not any(phrase in text for _, text in prose(page)):
            yield f"{LIST}:{number}: {page} does not say: {phrase}"
        elif sources != ["chosen"] and len(figures) != len(sources):
            yield f"{LIST}:{number}: {len(figures)} figures and {len(sources)} sources: {', '.join(figures)}"
        else:
            for figure, source in zip(figures, sources):
                yield from wrong_figure(number, figure, source)


def wrong_figure(number, figure, source):
    if source == "chosen":
        return
    try:
        value = float(eval(source))  # of our own list
    except (LookupError, NameError, SyntaxError, TypeError, ValueError) as error:
        yield f"{LIST}:{number}: {source}: {error}"
        return
    half = 0.5 * 10.0 ** -len(figure.partition(".")[2])
    if not abs(value - float(figure)) <= half * (1 + 1e-6):
        yield f"{LIST}:{number}: {figure} is {value:.4g} by {source}"


def loose(page):
    """Figures in prose that no phrase of the list has"""
    phrases = [phrase for _, of, phrase, _ in listed() if of == page]
    for start, text in prose(page):
        for phrase in phrases:
            text = text.replace(phrase, " ")
        text = masked(text)
        found = [
            found[0] for found in re.finditer(NUMBER, text) if "." in found[0] or re.match(UNIT, text[found.end() :])
        ]
        if found:
            yield f"{page}:{start}: no source of {', '.join(found)}"


def main():
    pages = list(dict.fromkeys(page for _, page, _, _ in listed()))
    if sys.argv[1:] == ["--write"]:
        for page in pages:
            write(page)
    found = [*wrong_phrases(), *(fault for page in pages for check in (loose, wrong_tables) for fault in check(page))]
    print("\n".join(found) or f"{', '.join(pages)}: figures are those of the data files")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
