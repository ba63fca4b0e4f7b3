#!/usr/bin/env python3
"""Writes the tables of a performance page from the figures of a benchmark.

  tables.py PAGE.md DATA.csv            from DATA.csv, between the lines <!-- tables --> and <!-- /tables --> of PAGE.md
  tables.py PAGE.md DATA.csv NEW.csv    NEW.csv takes the place of DATA.csv first
  tables.py --check PAGE.md DATA.csv    only says whether PAGE.md is what DATA.csv makes of it

The files are those of bench -csv; rows of several runs may be in one file. An empty field was not measured. Those of
ranks -csv go between <!-- ranks --> and <!-- /ranks -->, those of multigrid -csv between <!-- host --> and
<!-- /host -->."""
import csv
import math
import os
import shutil
import sys

RUN = ("device", "commit", "date", "petsc", "processes", "threads")

# Name in the file, heading
SOLVERS = [
    ("cg", "CG"),
    ("chebyshev", "Chebyshev"),
    ("chebyshev4", "fourth-kind Chebyshev"),
    ("richardson-jacobi", "Jacobi"),
    ("bai", "KSPBAI"),
    ("bai-async-5", "async-(5)"),
    ("bai-sync-5", "sync-(5)"),
    ("bai-sync-1", "sync-(1)"),
]
ITERATIONS = ["async-(1)", "async-(5)", "async-(9)", "launch-(5)", "sync-(1)", "sync-(5)", "color-(5)"]
SETUPS = ["async set-up", "sync set-up", "color set-up", "async new values", "sync new values"]


def number(text):
    return float(text) if text not in ("", None) else math.nan


def digits(value, n=3):
    """n significant digits, without an exponent"""
    if math.isnan(value):
        return ""
    if value == 0:
        return "0"
    places = max(0, n - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def read(filename):
    """The rows, and {(matrix, n): {what: {rtol: row}}}; rtol is NaN where there is none, as key None"""
    matrices = {}
    with open(filename, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        rtol = number(row["rtol"])
        matrices.setdefault((row["matrix"], row["n"]), {}).setdefault(row["what"], {})[
            None if math.isnan(rtol) else rtol
        ] = row
    return rows, matrices


def name(key):
    matrix, n = key
    return f"{matrix.rsplit('/', 1)[-1]}, {n}"


def table(heading, lines):
    """Without the lines and columns in which there is no figure"""
    isfigure = lambda cell: cell not in ("", "–")
    lines = [line for line in lines if any(map(isfigure, line[1:]))]
    used = [k for k in range(len(heading)) if k == 0 or any(isfigure(line[k]) for line in lines)]
    if len(used) < 2:
        return []
    show = lambda line: "| " + " | ".join(line[k] for k in used) + " |"
    return [show(heading), "|" + "---|" * len(used)] + [show(line) for line in lines] + [""]


def runs(rows):
    said = []
    for run in dict.fromkeys(tuple(row.get(column) or "" for column in RUN) for row in rows):
        device, commit, date, petsc, processes, threads = run
        where = (
            f"{processes} process"
            + ("" if processes == "1" else "es")
            + (f", {threads} OpenMP threads each on the host" if threads else "")
        )
        said.append(
            f"* {device or 'unknown device'}, commit `{commit or 'unknown'}`, {date or 'unknown date'}, PETSc"
            f" {petsc or 'unknown'}, {where}."
        )
    return ["Measured on:", ""] + said + [""]


def converged(row):
    return not row["reason"] or row["reason"].startswith("CONVERGED")


def solve(solves, rtol, what):
    """Time or iterations of a solve; – if it did not get there, * if b - A x is larger than asked for"""
    if not all(map(converged, solves.values())):
        return "–"  # a solver that fails is not tried with smaller tolerances
    if rtol not in solves:
        return ""
    value = number(solves[rtol]["seconds"]) * 1e6 if what == "seconds" else number(solves[rtol]["iterations"])
    text = f"{value:.0f}" if value >= 100 or value == value // 1 else digits(value)
    return text + ("*" if text and number(solves[rtol]["residual"]) > 2 * rtol else "")


def solves(matrices):
    rtol = min((t for solvers in matrices.values() for by in solvers.values() for t in by if t), default=None)
    if rtol is None:
        return []
    heading, times, counts = ["matrix, rows"] + [h for _, h in SOLVERS] + ["best BAI over CG"], [], []
    for key, solvers in matrices.items():
        found = [solvers.get(s, {}) for s, _ in SOLVERS]
        times.append([name(key)] + [solve(by, rtol, "seconds") for by in found])
        counts.append([name(key)] + [solve(by, rtol, "iterations") for by in found])
        seconds = [number(by[rtol]["seconds"]) if rtol in by and converged(by[rtol]) else math.nan for by in found]
        ours = [t for (s, _), t in zip(SOLVERS, seconds) if s.startswith("bai") and t == t]
        cg = seconds[0]
        times[-1].append(digits(min(ours) / cg, 2) if ours and cg == cg else "")
        counts[-1].append("")
    out = [
        f"## Whole solves to {rtol:g}",
        "",
        (f"KSPSolve() from zero until ‖b − Ax‖ ≤ {rtol:g} ‖b‖, set-up done, in µs. PETSc's solvers are with Jacobi."),
    ]
    if any(s.startswith("bai-") for solvers in matrices.values() for s in solvers):
        out += ["Relaxation has blocks of 128 rows, and five local sweeps, or one, which is a fused Jacobi iteration."]
    if any("bai" in solvers for solvers in matrices.values()):
        out += ["*KSPBAI* is the default: no option but `-ksp_type bai`."]
    out += [
        "A dash: stopped early. An empty cell: not measured. A star marks a true residual above twice the tolerance.",
        "",
    ]
    out += table(heading, times)
    body = table(heading, counts)
    return out + (
        ["The iterations of these solves, for BAI global ones; in mode async the mean of all samples:", ""] + body
        if body
        else []
    )


def ratios(matrices, whats, title, words, first=None):
    lines = []
    for key, all_ in matrices.items():
        rows = [all_.get(what, {}).get(None) for what in whats]
        if not any(rows):
            continue
        product = all_.get("MatMult", {}).get(None)
        lines.append(
            [name(key)]
            + ([digits(1e6 * number(product["seconds"])) if product else ""] if first else [])
            + [digits(number(row["ratio"]), 2) if row else "" for row in rows]
        )
    body = table(["matrix, rows"] + ([first] if first else []) + whats, lines)
    return [f"## {title}", ""] + words + [""] + body if body else []


def bandwidth(rows, matrices):
    copy = [number(row["GB/s"]) for row in rows if row["what"] == "VecCopy"]
    if not copy:
        return []
    whats = ["MatMult", "async-(5)", "launch-(5)", "sync-(5)", "color-(5)"]
    lines = []
    for key, all_ in matrices.items():
        found = [all_.get(what, {}).get(None) for what in whats]
        if key[0] and any(found):
            lines.append([name(key)] + [digits(number(row["GB/s"]) / copy[-1], 2) if row else "" for row in found])
    return [
        "## Bandwidth",
        "",
        (
            "What has to be moved at least, over the time, as a part of what VecCopy() reached in the same run:"
            f" {digits(copy[-1], 4)} GB/s."
        ),
        "A number above one is a matrix in a cache.",
        "",
    ] + table(["matrix, rows"] + whats, lines)


def threads(matrices):
    whats = list(
        dict.fromkeys(what for all_ in matrices.values() for what in all_ if what.endswith(("thread", "threads")))
    )
    return (
        ratios(
            matrices,
            whats,
            "Threads of the host",
            ["Five local sweeps, over MatSOR() with five local sweeps on one core."],
        )
        if whats
        else []
    )


def tables(filename):
    rows, matrices = read(filename)
    out = runs(rows) + solves(matrices)
    out += ratios(
        matrices,
        ITERATIONS,
        "One global iteration",
        [
            "The time of a global iteration over that of a MatMult() of the same matrix, by mode and number of local"
            " sweeps."
        ],
        "MatMult, µs",
    )
    out += ratios(
        matrices,
        SETUPS,
        "Set-up and new values",
        ["Over the time of a MatMult(): cutting a matrix into blocks, and taking over new values in the old pattern."],
    )
    return "\n".join(out + bandwidth(rows, matrices) + threads(matrices)).rstrip("\n")


# Part in the file, its title, and what its times are of
PARTS = [
    (
        "solve",
        "Whole solves",
        "KSPSolve() to 1e-10. *mpi* is `-ksp_type bai` with exchange scatter, *telescope* gathers on one rank.",
    ),
    (
        "levels",
        "Multigrid",
        "`-ksp_type bai` to 1e-10: set-up, a later solve, and both together; a set-up for new values where given.",
    ),
    ("levels-weak", "Multigrid, n points in each direction for each GPU", "Otherwise as above."),
    (
        "mg",
        "Geometric multigrid",
        "KSPSolve() to 1e-8, V(1,1) with PCBAI. *auto*: PCBAI "
        "chooses its exchange; *scatter*: PETSc exchanges, on several GPUs only.",
    ),
    (
        "gamg",
        "Algebraic multigrid, n points in each direction for each GPU",
        "KSPSolve() to 1e-8 by FCG and PCGAMG with PCBAI.",
    ),
    (
        "strong",
        "Relaxation",
        "300 global iterations in mode async without norms, by exchange, and 300 iterations of CG with Jacobi.",
    ),
    ("weak", "Relaxation, n points in each direction for each GPU", "Otherwise as above."),
]


def across(filename):
    """The tables of ranks -csv: milliseconds on one process, and the ratio to it on more"""
    with open(filename, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        found.setdefault(row["part"], {}).setdefault((row["system"], row["n"], row["what"]), {})[
            int(row["ranks"])
        ] = row
    run = list(dict.fromkeys(f"{row['device']}, commit `{row['commit']}`, {row['date']}" for row in rows))
    out = [
        "The GPUs of a table belong to one host. The rows were measured on these GPUs, at these commits: "
        + "; ".join(run)
        + ". The column of one GPU has milliseconds; the other columns have the time divided by that of one GPU."
        " Iterations are in brackets where they depend on the number of GPUs."
    ]
    for part, title, words in PARTS:
        counts = sorted({ranks for by in found.get(part, {}).values() for ranks in by})
        lines = []
        for (system, n, what), by in found.get(part, {}).items():
            cells = []
            differ = len({row["iterations"] for row in by.values()}) > 1
            for ranks in counts:
                row = by.get(ranks)
                text = (
                    ""
                    if not row
                    else (
                        digits(1e3 * number(row["seconds"]))
                        if ranks == 1
                        else (
                            digits(number(row["ratio"]))
                            if number(row["ratio"])
                            else f"{digits(1e3 * number(row['seconds']))} ms"
                        )
                    )
                )
                cells.append(f"{text} ({row['iterations']})" if row and differ else text)
            size = n if part == "solve" else f"{n}³"
            lines.append([f"{system.replace('laplace3d', '7 points')}, {size}", what] + cells)
        if lines:
            out += ["", f"**{title}.** {words}", ""]
            out += table(
                ["system", "solver"] + ["1 GPU, ms" if ranks == 1 else f"{ranks} GPUs" for ranks in counts], lines
            )
    return "\n".join(out).rstrip("\n").replace("\n\n\n", "\n\n")


# Name in the file, heading
WAYS = [("bai", "`-ksp_type bai`"), ("gamg", "GAMG"), ("jacobi", "Jacobi"), ("ilu", "ICC or ILU")]
PROBLEMS = {
    "laplace3d": "Poisson, 7 points",
    "laplace3d27": "Poisson, 27 points",
    "fv3": "Poisson, 9 points",
    "anisotropic": "anisotropic diffusion 100:1",
    "fv1": "strongly dominant diagonal (fv1)",
    "powerlaw": "power-law graph",
    "elasticity": "elasticity, clamped cube, to 1e-8",
    "convection2d": "convection and diffusion, 2-D",
    "convection3d": "convection and diffusion, 3-D",
}


def ways(filename):
    """The table of multigrid -csv: milliseconds of set-up + a solve, the least of several runs"""
    with open(filename, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        found.setdefault((row["matrix"], row["n"]), {}).setdefault(row["way"], []).append(row)
    lines = []
    for (matrix, n), by in found.items():
        cells = []
        for way, _ in WAYS:
            runs = by.get(way, [])
            least = lambda columns: digits(
                min(number(row[column]) for row in runs for column in columns),
                2 if min(number(row[column]) for row in runs for column in columns) < 100 else 3,
            )
            cells.append(
                ""
                if not runs
                else (
                    "–"
                    if not all(map(converged, runs))
                    else f"{least(['setup_ms'])}\u00a0+\u00a0{least(['first_ms', 'later_ms'])}, {runs[0]['iterations']}"
                )
            )
        lines.append([PROBLEMS[matrix], n] + cells)
    said = list(dict.fromkeys(f"{row['device']}, commit `{row['commit']}`, {row['date']}" for row in rows))
    return "\n".join(
        [f"Measured on: {'; '.join(said)}.", ""] + table(["problem", "rows"] + [heading for _, heading in WAYS], lines)
    ).rstrip("\n")


def kind(filename):
    """Which marks the figures belong between, and what makes tables of them"""
    with open(filename, encoding="utf-8") as file:
        first = file.readline()
    return (
        ("ranks", across)
        if first.startswith("part,")
        else ("host", ways)
        if first.startswith("device,")
        else ("tables", tables)
    )


def main(args):
    check = args[:1] == ["--check"]
    args = args[check:]
    if len(args) not in (2, 3) or (check and len(args) != 2):
        sys.exit(__doc__)
    page, data = args[:2]
    if len(args) == 3 and os.path.realpath(args[2]) != os.path.realpath(data):
        shutil.copyfile(args[2], data)
    mark, make = kind(data)
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    with open(page, encoding="utf-8") as file:
        old = file.read()
    if old.count(begin) != 1 or old.count(end) != 1:
        sys.exit(f"{page} must have one line {begin} and one line {end}")
    head, rest = old.split(begin)
    new = f"{head}{begin}\n{make(data)}\n{end}{rest.split(end)[1]}"
    if check:
        if new != old:
            sys.exit(f"{page} is not what {data} makes of it: make performance")
        return
    with open(page, "w", encoding="utf-8") as file:
        file.write(new)


if __name__ == "__main__":
    main(sys.argv[1:])
