#!/usr/bin/env python3
"""Compares the figures in the prose of README.md and docs/performance.md with the data files: figures.py

A paragraph with measured figures ends with a comment <!-- = SOURCE; SOURCE ... -->, one source for each of its figures, in
their order. A source is an expression of the functions below. A figure is right if its source rounds to it. In a paragraph
without sources a number with a decimal point, or before a unit of time, of memory or of speed, is an error. Not looked at
are code, tables, and numbers that are a size (1000², 20000 rows), a tolerance (1e-10) or a version (PETSc 3.18).
"""
import csv
import math
import re
import sys

sys.dont_write_bytecode = True
sys.path.append("bench")
from checkdocs import text_of
from tables import SOLVERS

PAGES = {"README.md": "## When to use it, when not", "docs/performance.md": "# Performance"} # from this heading to the next of its depth
NUMBER = (r"(?<![\w.^⁻/])(?<!1e-)(?<!PETSc )(?<!CUDA )(?<!capability )\d+(?:\.\d+)?(?![\w.]*[\d⁰¹²³⁴-⁹])"
          r"(?!e-)(?! (?:million )?rows| points| entries| processes|:)")
UNIT = r" (?:ms|µs|s|MB|times|of the time)\b"


def read(name):
    with open(f"docs/data/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


BENCH, MULTIGRID, RANKS = read("bench"), read("multigrid"), read("ranks")
SMALL = list(dict.fromkeys((row["matrix"], int(row["n"])) for row in BENCH if row["what"] == "resident-cg"))


def one(rows, **wanted):
    found = [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows with {wanted}")
    return found[0]


def solve(matrix, n, solver):
    """Milliseconds of a solve to 1e-10 in bench.csv; NaN if it did not get there"""
    row = one((row for row in BENCH if row["rtol"] and float(row["rtol"]) == 1e-10), matrix=matrix, n=n, what=solver)
    return 1e3 * float(row["seconds"]) if row["reason"].startswith("CONVERGED") else math.nan


def bai(matrix, n):
    """That of the fastest KSPBAI of the tables"""
    here = {row["what"] for row in BENCH if row["matrix"] == matrix and row["n"] == str(n) and row["rtol"]}
    times = [solve(matrix, n, what) for what, _ in SOLVERS if what.startswith("bai-") and what in here]
    return min(time for time in times if not math.isnan(time))


def lead(matrix, n, other="cg"):
    """How many times as fast as another solver KSPBAI is"""
    return solve(matrix, n, other) / bai(matrix, n)


def part(matrix, n, what):
    """Microseconds of a part of a solver in bench.csv, as async set-up"""
    return 1e6 * float(one((row for row in BENCH if not row["rtol"]), matrix=matrix, n=n, what=what)["seconds"])


def levels(matrix, n, way, column="later_ms"):
    """A column of multigrid.csv"""
    return float(one(MULTIGRID, matrix=matrix, n=n, way=way)[column])


def gpus(of, system, n, ranks, what):
    """The time on so many GPUs over that on one, in ranks.csv"""
    return float(one(RANKS, part=of, system=system, n=n, ranks=ranks, what=what)["ratio"])


def paragraphs(filename, heading):
    """Number of the first line, and text with its comments"""
    with open(filename, encoding="utf-8") as file:
        whole = file.read().split("\n")
    prose, lines, start, inside, made = dict(text_of(filename)), [], 0, False, None
    for number, line in enumerate(whole + [""], 1):
        if line.startswith("#"):
            inside = line == heading or (inside and len(line.split()[0]) > len(heading.split()[0]))
        mark = re.fullmatch(r"<!-- (/?)([a-z]+) -->", line)
        made = mark[2] if mark and not mark[1] else None if mark else made
        new = made or mark or not line.strip() or line.startswith(("#", "|", "    ")) or re.match(r"\s*[*-] ", line)
        if new and lines:
            yield start, " ".join(lines)
            lines = []
        if inside and not (made or mark) and line.strip() and not line.startswith(("#", "|", "    ")) \
                and (prose.get(number) or line.startswith("<!-- =")):
            start = start if lines else number
            lines.append(line.strip())


def faults(filename, heading):
    for start, text in paragraphs(filename, heading):
        sources = [source.strip() for found in re.findall(r"<!-- = (.*?) -->", text) for source in found.split(";")]
        plain = re.sub(r"<!--.*?-->|`[^`]*`", "", text)
        plain = re.sub(r"\]\([^)]*\)", "]", plain)
        if not sources:
            loose = [found[0] for found in re.finditer(NUMBER, plain) if "." in found[0] or re.match(UNIT, plain[found.end():])]
            if loose:
                yield f"{filename}:{start}: no source of {', '.join(loose)}"
            continue
        figures = re.findall(NUMBER, plain)
        if len(figures) != len(sources):
            yield f"{filename}:{start}: {len(figures)} figures and {len(sources)} sources: {', '.join(figures)}"
            continue
        for figure, source in zip(figures, sources):
            try:
                value = float(eval(source)) # of our own pages
            except (LookupError, NameError, SyntaxError, TypeError, ValueError) as error:
                yield f"{filename}:{start}: {source}: {error}"
                continue
            half = .5 * 10.0**-len(figure.partition(".")[2])
            if not abs(value - float(figure)) <= half * (1 + 1e-6):
                yield f"{filename}:{start}: {figure} is {value:.4g} by {source}"


def main():
    found = [fault for page, heading in PAGES.items() for fault in faults(page, heading)]
    print("\n".join(found) or f"{' and '.join(PAGES)}: figures in prose are those of the data files")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
