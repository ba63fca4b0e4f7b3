"""How results vary from run to run"""
import csv
import io
import os
import tempfile

from harness import async_, number
from run import read

TITLE = "How results vary from run to run"
SEEDS = "thesis 4.3, Tables 4.1 to 4.4, Figure 4.2; preprint, Tables IV and V"
# ||b - A x||/||b|| after so many iterations: mean, (largest - smallest)/mean
PUBLISHED = {
    ("fv1", 50): (3.4238e-06, 3.7969e-04), ("fv1", 100): (1.2685e-11, 5.2025e-04), ("fv1", 120): (8.5725e-14, 6.6724e-04),
    ("Trefethen_2000", 10): (8.4330e-06, 1.1282e-01), ("Trefethen_2000", 20): (9.3022e-10, 1.6309e-01), ("Trefethen_2000", 30): (1.0260e-13, 2.1747e-01),
    ("fv3", 1000): (5.89e-02, None), ("fv3", 9000): (1.44e-11, None),
}


def run(m):
    backend = m.options[:2] if m.gpus else []
    runs, matrices = ("1000,10,1000", "fv1,fv3,trefethen") if m.gpus else ("20", "fv1,trefethen")
    if m.quick:
        runs, matrices = "2", "trefethen"
    # each matrix alone, for the line of progress
    rows = []
    for matrix, count in zip(matrices.split(","), (runs.split(",") * 3)[:3]):
        m.say(f"{count} runs of {matrix}")
        said = m.call("nondeterminism", backend + ["-matrix", matrix, "-runs", count, "-mode", "async,launch,sync,color" if m.gpus else "async,sync", "-device", "x"] + ([] if m.gpus else ["-looks"]), timeout=400)
        rows += list(csv.DictReader(io.StringIO(said)))
    for row in rows:
        del row["device"]
    return rows + staleness(m, matrices.split(","))


def staleness(m, matrices):
    """What statistics count in one solve in mode async: a row for each number"""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for matrix in matrices:
            file = os.path.join(folder, matrix)
            done = m.solves([(matrix, f"-matrix {matrix} {async_(5, 128)} -ksp_rtol 1e-10 -ksp_max_it 40000 -ksp_bai_stats :{file}:ascii_csv")])
            rows += [{"matrix": matrix, "mode": "async", "quantity": row["quantity"], "of": row["of"], "value": row["value"]} for row in (read(file) if done[0]["reason"].startswith("CONVERGED") else [])]
    return rows


def show_staleness(p, place, rows):
    lines, groups = [], {"newer": lambda k: k < 0, "0": lambda k: k == 0, "1": lambda k: k == 1, "2": lambda k: k == 2, "3 to 9": lambda k: 3 <= k < 10, "10 and more": lambda k: k >= 10}
    for matrix in dict.fromkeys(row["matrix"] for row in rows):
        own = [row for row in rows if row["matrix"] == matrix]
        reads = {int(row["of"]): number(row["value"]) for row in own if row["quantity"] == "reads"}
        updates = {row["of"]: row["value"] for row in own if row["quantity"] == "updates"}
        lines.append([matrix] + [f"{100 * sum(v for k, v in reads.items() if belongs(k)) / sum(reads.values()):.3g} %" for belongs in groups.values()] + [f"{updates['least']} to {updates['most']}"])
    p.table(f"How old the values are that blocks of 128 rows read in mode async, in global iterations, 0 being the previous iterate; and how often blocks were updated in a solve to 1e-10; {place}.", ["matrix"] + list(groups) + ["updates"], lines)


def percent(part):
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.0f} %"


def page(p):
    for place, all_ in p.each():
        rows = [row for row in all_ if row["iterations"]]
        by = {(row["matrix"], int(row["iterations"]), row["mode"]): row for row in rows}
        modes = list(dict.fromkeys(row["mode"] for row in rows))
        lines = []
        for (matrix, its), (mean, variation) in PUBLISHED.items():
            if not any((matrix, its, mode) in by for mode in modes):
                continue
            line = [f"{matrix}, {its}", f"{mean:.3g}" + (f" ± {percent(variation)}" if variation else "")]
            for mode in modes:
                row = by.get((matrix, its, mode))
                line.append(f"{number(row['mean']):.3g} ± {percent(number(row['relative_variation']))}" if row else "")
            lines.append(line)
        runs = ", ".join(dict.fromkeys(f"{row['runs']} of {row['matrix']}" for row in rows))
        p.table(f"Mean of ‖b − Ax‖/‖b‖ and relative variation, (largest − smallest)/mean; {place}, runs: {runs}.", ["matrix, iterations", "papers"] + modes, lines)
        show_staleness(p, place, [row for row in all_ if not row["iterations"]])
        p.check("modes sync and color do not vary at all", all(number(row["relative_variation"]) == 0 for row in rows if row["mode"] in ("sync", "color")))
        sync = by.get(("fv1", 100, "sync"))
        if sync:
            p.check("mode sync is within 2 % of Table 4.1's mean", abs(number(sync["mean"]) / 1.2685e-11 - 1) < 0.02)
    p.why("The papers' GPU starts a wave of blocks at once, all of which read the previous iterate. So their mean is that of mode sync.",
          "Here mode launch is like that on a GPU. In mode async blocks go on by themselves, and what they read is older. On the host one or two blocks at a time read mostly new values.",
          "Table 4.2's relative variations after 5 and 40 iterations are off by ten. The standard errors of Table 4.3 are of 400 runs.")
    place, rows = p.best()
    rows = [row for row in rows if row["iterations"]]

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "Trefethen_2000")):
            for mode in ("async", "launch", "sync", "color"):
                some = [row for row in rows if row["matrix"] == matrix and row["mode"] == mode]
                if some:
                    p.curve(ax, mode, [number(row["iterations"]) for row in some], [number(row["standard_deviation"]) / number(row["mean"]) for row in some])
            some = [(its, value[1]) for (name, its), value in PUBLISHED.items() if name == matrix]
            p.curve(ax, "papers: largest − smallest", *zip(*some), published=True)
            ax.set_yscale("symlog", linthresh=1e-5)
            ax.set_xlabel("global iterations")
            ax.set_title(matrix)
        axes[0].set_ylabel("standard deviation / mean")
    p.picture(draw, f"Variation of the residual over runs, {place}", columns=2)
