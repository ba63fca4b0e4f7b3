#!/usr/bin/env python3
"""Writes the tables of docs/notebook/billion_rows.md, whose model this is: billion_rows.py [--check] PAGE.md

With --check it only says whether the page has these tables. Times are in milliseconds unless a name says otherwise."""
import csv
import sys

SIDE, ITERATIONS = 1000, 17
NODE = 8  # GPUs of a host
GPUS = (4, 8, 64, 512)
EXCHANGES = 14  # of an iteration, see "Levels on several GPUs" in ranks.md
LATENCY, BETWEEN = 0.01, 25e6  # assumed between hosts: milliseconds of a message, and bytes in a millisecond
BYTES = 3 * 4 + 8  # of a boundary row in an iteration: three exchanges in single precision, one in double
MEMORY = 283  # bytes of a row in set-ups and solves of four GPUs


def measured(what, ranks):
    """{side: milliseconds, of an iteration if what is a solve} of 7 points on side³ points"""
    with open("docs/data/ranks.csv", newline="", encoding="utf-8") as file:
        return {
            int(row["n"]): 1e3 * float(row["seconds"]) / (int(row["iterations"]) if what == "solve" else 1)
            for row in csv.DictReader(file)
            if row["part"] == "levels" and row["what"] == what and row["ranks"] == str(ranks)
        }


def line(points, x):
    """At x on the line through the two points that are next"""
    points = sorted(points)
    k = max([0] + [k for k in range(len(points) - 1) if x > points[k][0]])
    (a, fa), (b, fb) = points[k : k + 2]
    return fa + (fb - fa) * (x - a) / (b - a)


def alone(what, rows):
    """What one GPU takes for this number of rows"""
    return line([(side**3, time) for side, time in measured(what, 1).items()], rows)


DIVIDED = 200  # smaller grids are gathered


def fit(what):
    """The least-squares line excess = a + b * side² of what ranks take longer than one GPU takes for their rows"""
    points = [
        (side**2, time - alone(what, side**3 / ranks))
        for ranks in (2, 4)
        for side, time in measured(what, ranks).items()
        if side >= DIVIDED
    ]
    n, x, y = len(points), sum(p[0] for p in points), sum(p[1] for p in points)
    xx, xy = sum(p[0] ** 2 for p in points), sum(p[0] * p[1] for p in points)
    b = (n * xy - x * y) / (n * xx - x * x)
    return (y - b * x) / n, b


def modelled(what, side, gpus):
    """Slabs of planes inside a host, and cubes among hosts"""
    a, b = fit(what)
    face = side**2 if gpus <= NODE else (side**3 / gpus) ** (2 / 3)
    network = EXCHANGES * LATENCY + 3 * face * BYTES / BETWEEN if gpus > NODE else 0
    return alone(what, side**3 / gpus) + a + b * face + network


def digits(value):
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}" if value >= 0.1 else f"{value:.2g}"


def table(heading, lines):
    row = lambda cells: "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
    return "\n".join([row(heading), "|---" * len(heading) + "|", *map(row, lines)])


def tables():
    checks = []
    for side in sorted(side for side in measured("solve", 1) if side >= DIVIDED):
        cells = [f"{side}³"]
        for ranks in (2, 4):
            for what in ("solve", "set-up"):
                if side in measured(what, ranks):
                    cells.append(f"{digits(measured(what, ranks)[side])}, {digits(modelled(what, side, ranks))}")
        checks.append(cells)
    heading = ["points"] + [f"{what}, {ranks} GPUs" for ranks in (2, 4) for what in ("an iteration", "set-up")]
    solve = lambda gpus: ITERATIONS * modelled("solve", SIDE, gpus)
    whole = [
        ["rows of a GPU", *(digits(SIDE**3 / gpus) for gpus in GPUS)],
        ["an iteration, ms", *(digits(modelled("solve", SIDE, gpus)) for gpus in GPUS)],
        ["of that one GPU with these rows", *(digits(alone("solve", SIDE**3 / gpus)) for gpus in GPUS)],
        ["**a solve**, ms", *(digits(solve(gpus)) for gpus in GPUS)],
        ["**set-up**, ms", *(digits(modelled("set-up", SIDE, gpus)) if gpus <= NODE else "" for gpus in GPUS)],
        ["**memory** of a GPU, GB", *(digits(1e-9 * MEMORY * SIDE**3 / gpus) for gpus in GPUS)],
    ]
    return table(heading, checks), table(["", *(f"{gpus} GPUs" for gpus in GPUS)], whole)


def main(args):
    check = args[:1] == ["--check"]
    if len(args) != 1 + check:
        sys.exit(__doc__)
    with open(args[-1], encoding="utf-8") as file:
        old = new = file.read()
    for name, made in zip(("measured", "modelled"), tables()):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        new = new[: new.index(begin) + len(begin)] + made + new[new.index(end) :]
    if check:
        if new != old:
            sys.exit(f"{args[-1]} is not what the model makes of it: python3 {sys.argv[0]} {args[-1]}")
        return
    with open(args[-1], "w", encoding="utf-8") as file:
        file.write(new)


if __name__ == "__main__":
    main(sys.argv[1:])
