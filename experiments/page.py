#!/usr/bin/env python3
"""Writes the page of the experiments and its pictures from the tables that run.py left.

  page.py                      docs/experiments.md from docs/data/experiments, without matplotlib without new pictures
  page.py --csv DIR [...]      the tables of DIR take the place of those of the same kind of machine first: host, gpu, or gpus for what needs several
  page.py --check              only says whether the page is what the tables make of it"""
import argparse
import math
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PLACES = {"host": "host", "gpu": "GPU", "gpus": "several GPUs"}
# Okabe and Ito, which colour-blind readers tell apart; each with a line and a mark of its own
STYLES = [("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"), ("#000000", "-", "v"), ("#E69F00", "--", "<"), ("#56B4E9", "-.", ">")]


class Page:
    """What an experiment's page() writes to"""

    def __init__(self, data, pictures, name):
        self.data, self.pictures, self.name = data, pictures, name
        self.lines, self.checks, self.styles, self.pending = [], [], {}, []

    def each(self):
        """(what it is called, its rows) of every kind of machine that has measured this"""
        for folder, place in PLACES.items():
            rows = run.read(os.path.join(self.data, folder, self.name + ".csv"))
            if rows:
                yield place, rows

    def best(self):
        return list(self.each())[-1]

    def notes(self):
        """What status.csv remarks, by kind of machine"""
        notes = {place: row["note"] for folder, place in PLACES.items() for row in run.read(os.path.join(self.data, folder, "status.csv")) if row["experiment"] == self.name and row.get("note")}
        return [f"* {place}: {note}." for place, note in notes.items()]

    def text(self, *sentences):
        if any(sentences):
            self.lines += [*filter(None, sentences), ""]

    def table(self, caption, heading, lines):
        if not lines:
            return
        self.lines += [caption, "", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
        self.lines += ["| " + " | ".join(line + [""] * (len(heading) - len(line))) + " |" for line in lines] + [""]

    def check(self, statement, holds):
        self.checks.append(f"{'holds' if holds else '**does not hold**'}: {statement}")

    def why(self, *sentences):
        self.pending = sentences

    def curve(self, ax, name, x, y, published=False):
        """A line of a picture: a name has the same colour in all of its parts"""
        finite = [(a, b) for a, b in zip(x, y) if b is not None and math.isfinite(b)]
        if not finite:
            return
        color, line, mark = self.styles.setdefault(name, ("0.5", (0, (1, 1)), "x") if published else STYLES[len(self.styles) % len(STYLES)])
        ax.plot(*zip(*finite), color=color, linestyle=line, marker=mark, markersize=3.5, markevery=max(1, len(finite) // 12), linewidth=1.3, label=name)

    def picture(self, draw, caption, columns=1, legend=True):
        path = os.path.join(self.pictures, self.name)
        self.lines += [f"![{caption}]({os.path.relpath(path + '.png', os.path.join(ROOT, 'docs')).replace(os.sep, '/')})", ""]
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        matplotlib.rcParams.update({"svg.hashsalt": "petsc-bai", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.titlesize": 9, "svg.fonttype": "none"})
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, columns, figsize=(max(5.2, 3.0 * columns + 0.6), 3.7), squeeze=False, sharey=False)
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
        figure.savefig(path + ".svg", metadata={"Date": None})
        plt.close(figure)


def about(data):
    """Which machines, and what was left out on each"""
    lines, left = ["| machine | device | commit | date | PETSc | seconds in all |", "|---|---|---|---|---|---|"], []
    for folder, place in PLACES.items():
        status = run.read(os.path.join(data, folder, "status.csv"))
        for key in dict.fromkeys((row["device"], row["commit"], row["date"], row["petsc"], row["threads"], row["gpus"]) for row in status if row["state"] == "done"):
            same = [row for row in status if (row["device"], row["commit"], row["date"], row["petsc"], row["threads"], row["gpus"]) == key and row["state"] == "done"]
            device, commit, date, petsc, threads, gpus = key
            what = (gpus + " × " if int(gpus) > 1 else "") + device + ("" if int(gpus) else f", {threads} thread" + ("s" if threads != "1" else ""))
            lines.append(f"| {place} | {what} | {commit} | {date} | {petsc} | {sum(int(row['seconds']) for row in same)} |")
        left += [f"* {row['experiment']}, {place}: {row['state']}, {row['why']}." for row in status if row["state"] != "done"]
    return lines + [""] + (["Left out, or failed:", ""] + left + [""] if left else [])


HEAD = """<!-- made from docs/data/experiments by "make experiments-page" -->
# The papers' experiments

The experiments of H. Anzt's thesis (*Asynchronous and Multiprecision Linear Solvers*, Karlsruhe 2012) and of the papers that it builds on, run again: their figures beside ours,
what differs, and why. A line that begins with *holds* is a statement that was checked by the numbers of this page.

    make experiments                          all, on the GPU if GPU=1 is given, else a smaller set on the host
    make experiments EXPERIMENT=faults        one, or several
    make experiments-page CSV=DIR             this page and its pictures, from the tables that it left in DIR

On a machine with a GPU and without PETSc: `carried/run.sh experiments` of what `make bundle` packs.
The tables are in `docs/data/experiments`. Right-hand sides are ones, guesses zero. async-(5) has six updates, as [the papers' tables have](concepts.md#if-you-come-from-the-papers), without momentum.
Matrix s1rmt3m1 and A318 are not generated.

"""


def write(data, page, pictures):
    out = [HEAD + "\n".join(about(data))]
    contents, sections = [], []
    for name in run.NAMES:
        module = run.experiment(name)
        p = Page(data, pictures, name)
        if not list(p.each()):
            continue
        module.page(p)
        anchor = "".join(c for c in module.TITLE.lower() if c.isalnum() or c in " -_").replace(" ", "-")
        contents.append(f"* [{module.TITLE}](#{anchor})")
        remarks = [f"* {sentence}" for sentence in p.pending] + p.notes()
        sections += [f"## {module.TITLE}", "", f"`{name}`: {module.SEEDS}.", ""] + p.lines + [f"* {line}" for line in p.checks] + ([""] if p.checks else []) + (["What differs, and why:", ""] + remarks + [""] if remarks else [])
    text = "\n".join(out + contents + [""] + sections).rstrip("\n") + "\n"
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
            mine = [row for row in new if place == ("host" if row["gpus"] == "0" else "gpus" if row["gpus"] != "1" and row["experiment"] == "ranks" else "gpu")]
            names = {row["experiment"] for row in mine}
            if not names:
                continue
            to = os.path.join(a.data, place)
            os.makedirs(to, exist_ok=True)
            old = [row for row in run.read(os.path.join(to, "status.csv")) if row["experiment"] not in names]
            for name in names:
                if os.path.exists(os.path.join(folder, name + ".csv")):
                    shutil.copyfile(os.path.join(folder, name + ".csv"), os.path.join(to, name + ".csv"))
            run.write(os.path.join(to, "status.csv"), sorted(old + mine, key=lambda row: run.NAMES.index(row["experiment"])))
    write(a.data, a.page, a.pictures)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("no new pictures: python3 has no matplotlib")
    return 0


if __name__ == "__main__":
    sys.exit(main())
