#!/usr/bin/env python3
"""Writes the tables of docs/notebook/billion_rows.md, whose model this is: billion_rows.py [--check] PAGE.md

With --check it only says whether the page has these tables. Times are in milliseconds unless a name says otherwise."""
import csv
import math
import sys

SIDE, RANKS = 1000, (8, 64, 512)
FEW, MANY, SHARE = 4096, 2**18, 8  # the rule of src/multigrid/ranks.c
ITERATIONS = 18
LATENCY = 0.01  # of a message
INSIDE, BETWEEN = 150e6, 25e6  # bytes in a millisecond: links of a GPU inside a host of 8, and between hosts
REDUCTION = {8: 0.02, 64: 0.03, 512: 0.04}
LAUNCHES, LAUNCH, HIDDEN = 25, 0.005, 200000  # of a visit; rows that take as long as a launch
CYCLE = 0.61  # part of an iteration of KSPBAI on one GPU
HOST = 0.36e-3  # milliseconds for a row of the rank
MATRIX, VALUES = 88, 2.5  # bytes of a row; memory of the engine's levels over that


def measured(way, value):
    """(rows, value) of the 7-point Laplacians of multigrid_h200.csv"""
    with open("docs/data/multigrid_h200.csv", newline="", encoding="utf-8") as file:
        return sorted(
            (int(row["n"]), value(row))
            for row in csv.DictReader(file)
            if row["matrix"] == "laplace3d" and row["way"] == way
        )


def iteration(way):
    return measured(way, lambda row: float(row["later_ms"]) / int(row["iterations"]))


def at(points, rows):
    """On the line through the two points that are next"""
    k = max([0] + [k for k in range(len(points) - 1) if rows > points[k][0]])
    (a, fa), (b, fb) = points[k : k + 2]
    return fa + (fb - fa) * (rows - a) / (b - a)


class Levels:
    """Each rank has a cube of the grid; the next level has half as many points in each direction of it, rounded up"""

    def __init__(self, ranks):
        self.ranks, self.side = ranks, [SIDE // round(ranks ** (1 / 3))]
        while self.side[-1] > 1:
            self.side.append((self.side[-1] + 1) // 2)
        self.rows = [ranks * side**3 for side in self.side]
        self.limit = max(FEW, min(MANY, SIDE**3 // ranks // SHARE))
        self.rule = next(level for level, rows in enumerate(self.rows) if rows <= self.limit)

    def twice(self, level):
        return level % 2 == 1 and self.rows[level] > FEW

    def parts(self, gathered):
        """Of an iteration, if this level is the one that is gathered"""
        visits = [1]
        for level in range(1, gathered):
            visits.append(visits[-1] * (1 + self.twice(level)))
        link, rows, calls = INSIDE if self.ranks == 8 else BETWEEN, self.rows[gathered], visits[-1]
        exchanges = [3] + [2 * visits[level] + visits[level] // 2 * self.twice(level) for level in range(1, gathered)]
        own = self.side[0] ** 3
        return {
            "least": at(iteration("bai"), own),
            "most": at(iteration("baimg"), own),
            "halo": sum(many * (LATENCY + 3 * side**2 * 8 / link) for many, side in zip(exchanges, self.side)),
            "launches": sum(
                visits[level] * LAUNCHES * LAUNCH for level in range(1, gathered) if self.side[level] ** 3 < HIDDEN
            ),
            "reductions": 3 * REDUCTION[self.ranks],
            "gathering": calls * (math.log2(self.ranks) * LATENCY + rows * 8 / link),
            "its cycles": calls * (1 + self.twice(gathered)) * CYCLE * at(iteration("bai"), rows),
        }

    def whole(self, gathered):
        """From the least to the most"""
        parts = self.parts(gathered)
        return [sum(value for name, value in parts.items() if name != other) for other in ("most", "least")]

    def gigabytes(self):
        own = self.side[0] ** 3 * (8 / 7 * (MATRIX + VALUES * MATRIX + 16 + 4 * 8) + 6 * 8)
        return 1e-9 * (own + self.rows[self.rule] * (MATRIX + VALUES * MATRIX + 4 * 8))


def digits(value):
    """Two, and three from 100 on"""
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f}" if value else "0"


def both(values):
    first, last = map(digits, values)
    return first if first == last else f"{first} to {last}"


def table(heading, lines):
    row = lambda cells: "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
    return "\n".join([row(heading), "|---" * len(heading) + "|", *map(row, lines)])


def tables():
    all_levels = [Levels(ranks) for ranks in RANKS]
    parts = [levels.parts(levels.rule) for levels in all_levels]
    whole = [levels.whole(levels.rule) for levels in all_levels]
    setup = measured("bai", lambda row: float(row["setup_ms"]))
    line = lambda name, cell, *of: [name, *map(cell, *of)]
    first = [
        line("rows of a rank", lambda levels: f"{levels.side[0]}³", all_levels),
        line("limit of the rule, rows", lambda levels: str(levels.limit), all_levels),
        line("level that is gathered, rows", lambda levels: f"{levels.rule}: {levels.rows[levels.rule]}", all_levels),
        line("**ms of an iteration**: local, from", lambda part: digits(part["least"]), parts),
        line("local, to", lambda part: digits(part["most"]), parts),
    ]
    first += [
        line(name, lambda part: digits(part[name]), parts)
        for name in ("launches", "halo", "reductions", "gathering", "its cycles")
    ]
    first += [
        line("together", both, whole),
        line(
            f"**a solve**, {ITERATIONS} iterations, ms",
            lambda values: both([ITERATIONS * value for value in values]),
            whole,
        ),
        line(
            "**set-up**, s: on the device",
            lambda levels: digits(1e-3 * (at(setup, levels.side[0] ** 3) + at(setup, levels.rows[levels.rule]))),
            all_levels,
        ),
        line("on the host", lambda levels: digits(1e-3 * HOST * levels.side[0] ** 3), all_levels),
        line("**memory** of a GPU, GB", lambda levels: digits(levels.gigabytes()), all_levels),
    ]
    second = []
    for gathered in range(2, 7):
        cells = []
        for levels in all_levels:
            mark = "**" if gathered == levels.rule else ""
            cells += [str(levels.rows[gathered]), mark + both(levels.whole(gathered)) + mark]
        second.append([str(gathered), *cells])
    heads = [f"{ranks} GPUs" for ranks in RANKS]
    return table(["", *heads], first), table(
        ["level", *(head for name in heads for head in (f"rows, {name}", "ms"))], second
    )


def main(args):
    check = args[:1] == ["--check"]
    if len(args) != 1 + check:
        sys.exit(__doc__)
    with open(args[-1], encoding="utf-8") as file:
        old = new = file.read()
    for name, made in zip(("parts", "gathered"), tables()):
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
