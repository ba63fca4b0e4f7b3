#!/usr/bin/env python3
"""Writes the page of the experiments and its pictures from the tables that run.py left.

  page.py                      docs/experiments.md from docs/data/experiments, without matplotlib without new pictures
  page.py --csv DIR [...]      the tables of DIR take the place of those of the same kind of machine first: host, gpu,
                               or gpus for what needs several
  page.py --check              only says whether the page is what the tables make of it"""
import argparse
import math
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

CHEM97 = re.compile(r"(chem97 is [^.;]*)(?:[.;] *|$)")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PLACES = {"host": "host", "gpu": "GPU", "gpus": "several GPUs"}
# Okabe and Ito, which colour-blind readers tell apart; each with a line and a mark of its own
STYLES = [
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#000000", "-", "v"),
    ("#E69F00", "--", "<"),
    ("#56B4E9", "-.", ">"),
]


class Page:
    """The page as an experiment's page() writes to it"""

    def __init__(self, data, pictures, name):
        self.data, self.pictures, self.name = data, pictures, name
        self.lines, self.checks, self.styles, self.pending, self.rows, self.drawn = [], {}, {}, [], [], []

    def each(self, name=None):
        """(name, rows) of every kind of machine that has measured this experiment, or another one"""
        for folder, place in PLACES.items():
            rows = run.read(os.path.join(self.data, folder, (name or self.name) + ".csv"))
            if rows:
                yield place, rows

    def best(self, suits=lambda rows: True):
        """The last machine whose rows suit, or the last of all"""
        all_ = list(self.each())
        return ([some for some in all_ if suits(some[1])] or all_)[-1]

    def notes(self):
        """The notes of status.csv by kind of machine; about() has the matrix that chem97 is"""
        notes = {}
        for folder, place in PLACES.items():
            for row in run.read(os.path.join(self.data, folder, "status.csv")):
                note = CHEM97.sub("", row.get("note", ""))
                if row["experiment"] == self.name and note:
                    notes.setdefault(note, []).append(place)
        return [f"* {', '.join(places)}: {note}." for note, places in notes.items()]

    def text(self, *sentences):
        if any(sentences):
            self.lines += [*filter(None, sentences), ""]

    def table(self, caption, heading, lines):
        lines = [line for line in lines if any(line[1:])]
        if not lines:
            return
        used = [k for k in range(len(heading)) if not k or any(line[k : k + 1] not in ([], [""]) for line in lines)]
        show = lambda line: "| " + " | ".join(cell((line + [""] * len(heading))[k]) for k in used) + " |"
        self.lines += [caption, "", show(heading), "|" + "---|" * len(used)] + [show(line) for line in lines] + [""]

    def say(self, what, name=None):
        """what(rows) of each kind of machine, said once where it is the same; what may return nothing or find no row"""
        said = {}
        for place, rows in reversed(list(self.each(name))):
            try:
                text = what(rows)
            except (LookupError, ValueError, ZeroDivisionError):
                continue
            if text and "nan" not in text:
                said.setdefault(text, []).append(place)
        return "; ".join(f"{' and '.join(places)}: {text}" for text, places in said.items()) or "not measured"

    def compare(self, what, papers, here, why=""):
        """A line of the table that a section begins with; here is a text, or what say() asks"""
        self.rows.append((what, papers, here if isinstance(here, str) else self.say(here), why))

    def check(self, statement, holds, where):
        """where: the case, of which there may be several for a statement"""
        self.checks.setdefault((statement, bool(holds)), []).append(where)

    def why(self, *sentences):
        self.pending = sentences

    def curve(self, ax, name, x, y, published=False):
        """A line of a picture: a name has the same colour in all of its parts"""
        finite = [(a, b) for a, b in zip(x, y) if b is not None and math.isfinite(b)]
        if not finite:
            return
        color, line, mark = self.styles.setdefault(
            name, ("0.5", (0, (1, 1)), "x") if published else STYLES[len(self.styles) % len(STYLES)]
        )
        ax.plot(
            *zip(*finite),
            color=color,
            linestyle=line,
            marker=mark,
            markersize=3.5,
            markevery=max(1, len(finite) // 12),
            linewidth=1.3,
            label=name,
        )

    def picture(self, draw, caption, columns=1, legend=True, name=None):
        path = os.path.join(self.pictures, name or self.name)
        self.drawn.append(
            f"![{caption}]({os.path.relpath(path + '.png', os.path.join(ROOT, 'docs')).replace(os.sep, '/')})"
        )
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        matplotlib.rcParams.update(
            {
                "font.size": 9,
                "axes.grid": True,
                "grid.alpha": 0.3,
                "axes.titlesize": 9,
            }
        )
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(
            1, columns, figsize=(max(5.2, 3.0 * columns + 0.6), 3.4), squeeze=False, sharey=False
        )
        draw(axes[0])
        labels = {label: handle for ax in axes[0] for handle, label in zip(*ax.get_legend_handles_labels())}
        below = 0
        if legend and labels:
            per_row = min(len(labels), 3 if columns > 1 else 2)
            below = 0.066 * -(-len(labels) // per_row)
            figure.legend(labels.values(), labels.keys(), loc="lower center", ncol=per_row, frameon=False, fontsize=8.5)
        figure.suptitle(caption, fontsize=9.5)
        figure.tight_layout(rect=(0, below, 1, 1))
        os.makedirs(self.pictures, exist_ok=True)
        figure.savefig(path + ".png", dpi=110)
        plt.close(figure)


def about(data):
    """Which machines measured what, and what was left out on each"""
    lines, left = [
        "| machine | device | commit | date | PETSc | seconds | experiments |",
        "|---|---|---|---|---|---|---|",
    ], []
    chem97 = {}
    for folder, place in PLACES.items():
        status = run.read(os.path.join(data, folder, "status.csv"))
        for row in status:
            for note in CHEM97.findall(row.get("note", "")):
                chem97.setdefault(note.replace(", from a file", ""), {}).setdefault(place, []).append(row["experiment"])
        key = lambda row: (row["device"], row["commit"], row["date"], row["petsc"], row["threads"], row["gpus"])
        for device, commit, date, petsc, threads, gpus in dict.fromkeys(
            key(row) for row in status if row["state"] == "done"
        ):
            same = [
                row
                for row in status
                if key(row) == (device, commit, date, petsc, threads, gpus) and row["state"] == "done"
            ]
            what = (
                (gpus + " × " if int(gpus) > 1 else "")
                + device
                + ("" if int(gpus) else f", {threads} thread" + ("s" if threads != "1" else ""))
            )
            lines.append(
                f"| {place} | {what} | {commit} | {date} | {petsc} | {sum(int(row['seconds']) for row in same)} |"
                f" {', '.join(row['experiment'] for row in same)} |"
            )
        left += [
            f"* {row['experiment']}, {place}: {row['state']}, {row['why']}." for row in status if row["state"] != "done"
        ]
    lines += [""] + [
        f"* {note} ({'; '.join(place + ': ' + ', '.join(names) for place, names in places.items())})."
        for note, places in chem97.items()
    ]
    return lines + [""] + (left + [""] if left else [])


HEAD = """<!-- made from docs/data/experiments by "make experiments-page" -->
# The papers' experiments

For readers of the papers: the experiments of H. Anzt's thesis (*Asynchronous and Multiprecision Linear Solvers*, \
Karlsruhe 2012) and of the papers that it builds on, repeated with this library. Each section begins with the results \
in the papers beside the results here, by figures and tables of the thesis; pictures and our own tables follow. \
[Machines](#machines) are at the end.

* Right-hand sides are ones, guesses zero. async-(5) has six updates, as \
[the papers' tables have](relaxation.md#if-you-come-from-the-papers), and no momentum.
* A line that begins with *holds* or *does not hold* is a statement that this page checks against its data, \
`docs/data/experiments`.

| command | what it does |
|---|---|
| `make experiments` | runs all, on the GPU if `GPU=1` is given, else a smaller set on the host |
| `make experiments EXPERIMENT="faults theta"` | runs some of them; `ARGS="--limit 400"`: within 400 seconds |
| `make experiments-page CSV=DIR` | makes this page and its pictures from the tables in DIR |

"""

# What is named and not done, in the form of the tables that sections begin with
NOT_DONE = [
    (
        "Table B.1: apache2, audikw_1, boneS10, ecology2, G3_circuit, ldoor, nd24k",
        "with CG only, for energy; no ρ given",
        "not measured",
        (
            "not available here; `solves -f FILE` reads them. ecology2 is a five-point mesh of 1000² points, as"
            " `-matrix laplace2d -n 1000` is"
        ),
    ),
    (
        "Section 4.10.4: blocks with few local sweeps scheduled more often",
        "named, not done",
        "not done",
        ("a kernel serves all blocks alike; θ sets the number of local sweeps, and does not use a block's residual"),
    ),
    (
        "Algorithm 15: asynchronous sweeps inside a block",
        "described",
        "not done",
        "sweeps inside a block would differ from run to run, also in modes sync and color",
    ),
    (
        "Algorithm 22: other local solvers; Algorithm 23: several correction loops",
        "one loop of 15 sweeps measured",
        "one loop, any number of sweeps",
        "exact solves inside blocks are PETSc's `PCASM` and `PCBJACOBI`; more loops are more global iterations",
    ),
    (
        "Tables 5.1 and 5.2: CG on CPU and GPU",
        "GPU 11.48 of 42.18 Wh, 2.72 of 13.31 Wh",
        "not measured",
        "these are about CG; a processor's energy cannot be read here",
    ),
    (
        "Table 5.3, Figure 5.4: clock frequency of the processor",
        "0.8 GHz saves 5 % with a GPU",
        "not measured",
        "it could not be set; a sleeping host saves more, as in Table 5.6",
    ),
]


def cell(text):
    """Without breaks of lines inside 1e-10, async-(5) and 5 %"""
    return re.sub(r"(?<=\de)-(?=\d)|(?<=sync)-(?=\()", "\u2011", text).replace(" %", "\u00a0%").replace("|", "\\|")


def rows_of(rows):
    return ["| " + " | ".join(map(cell, row)) + " |" for row in rows] + [""]


def write(data, page, pictures):
    sections = []
    for name in run.NAMES:
        module = run.experiment(name)
        p = Page(data, pictures, name)
        if not list(p.each()):
            continue
        module.page(p)
        checks = [
            f"* {'holds' if holds else '**does not hold**'}: {statement} ({'; '.join(where)})"
            for (statement, holds), where in p.checks.items()
        ]
        remarks = [f"* {sentence}" for sentence in p.pending if sentence] + p.notes()
        sections += (
            [f"## {module.TITLE}", f"`{name}`: {module.SEEDS}.", ""]
            + ["| figure or table | papers | here | reason for a difference |", "|---|---|---|---|"]
            + rows_of(p.rows)
            + [line for picture in p.drawn for line in (picture, "")]
            + p.lines
            + checks
            + remarks
            + ([""] if checks or remarks else [])
        )
    sections += ["## Not repeated", "", "| figure or table | papers | here | reason |", "|---|---|---|---|"]
    sections += rows_of(NOT_DONE) + ["## Machines", ""] + about(data)
    text = HEAD + "\n".join(sections).rstrip("\n") + "\n"
    if page is None:
        return text
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)
    return text


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--csv", nargs="*", default=[])
    a.add_argument("--data", default=os.path.join(ROOT, "docs/data/experiments"))
    a.add_argument("--page", default=os.path.join(ROOT, "docs/experiments.md"))
    a.add_argument("--pictures", default=os.path.join(ROOT, "docs/figures/experiments"))
    a.add_argument("--check", action="store_true")
    a = a.parse_args()
    if a.check:
        sys.modules["matplotlib"] = None  # no pictures
        with open(a.page, encoding="utf-8") as file:
            same = file.read() == write(a.data, None, a.pictures)
        return 0 if same else f"{a.page} is not what {a.data} makes of it: make experiments-page"
    for folder in a.csv:
        new = run.read(os.path.join(folder, "status.csv"))
        if not new:
            return f"{folder} has no status.csv: is it what make experiments wrote?"
        for place in PLACES:
            mine = [
                row
                for row in new
                if place
                == (
                    "host"
                    if row["gpus"] == "0"
                    else "gpus"
                    if row["gpus"] != "1" and row["experiment"] == "ranks"
                    else "gpu"
                )
            ]
            names = {row["experiment"] for row in mine}
            if not names:
                continue
            to = os.path.join(a.data, place)
            os.makedirs(to, exist_ok=True)
            old = [row for row in run.read(os.path.join(to, "status.csv")) if row["experiment"] not in names]
            for name in names:
                if os.path.exists(os.path.join(folder, name + ".csv")):
                    shutil.copyfile(os.path.join(folder, name + ".csv"), os.path.join(to, name + ".csv"))
            run.write(
                os.path.join(to, "status.csv"), sorted(old + mine, key=lambda row: run.NAMES.index(row["experiment"]))
            )
    write(a.data, a.page, a.pictures)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("no new pictures: python3 has no matplotlib")
    return 0


if __name__ == "__main__":
    sys.exit(main())
