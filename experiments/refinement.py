"""Mixed-precision iterative refinement"""
from harness import async_, converged, number, parts

TITLE = "Mixed-precision iterative refinement"
SEEDS = "thesis 4.12, Figures 4.31 to 4.33; mixed-precision paper"
MATRICES = ["fv1", "fv3", "trefethen", "chem97"]
TOLERANCES = ["1e-4", "1e-6", "1e-8", "1e-10", "1e-12"]


def run(m):
    cases = []
    for matrix in ["trefethen"] if m.quick else MATRICES if m.gpus else ["fv1", "trefethen", "chem97"]:
        for precision in ("native", "single"):
            for rtol in TOLERANCES[:2] if m.quick else TOLERANCES:
                cases.append((f"{matrix}|{precision}|{rtol}", f"{m.matrix(matrix)} {async_(5)} -ksp_bai_precision {precision} -ksp_rtol {rtol} -ksp_max_it 40000 -seconds {0.2 if m.gpus else 0.05}" + (" -find refine_sync," if precision == "single" else "")))
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        lines = []
        for matrix in MATRICES:
            double, single = by.get((matrix, "native", "1e-12")), by.get((matrix, "single", "1e-12"))
            if double and single and converged(double) and converged(single):
                inner = number(single["found"])
                lines.append([matrix, double["its"], single["its"], f"{number(single['its']) / inner:.1f}" if inner == inner else "", f"{1e3 * number(double['seconds']):.3g}", f"{1e3 * number(single['seconds']):.3g}", f"{number(double['seconds']) / number(single['seconds']):.2f}"])
                p.check(f"{matrix}, {place}: refinement is as accurate as double precision", number(single["residual"]) <= 1.1e-12)
        p.table(f"async-(5), blocks of 448 rows, to 1e-12, {place}; double: as it is, single: refinement round iterations in single precision.", ["matrix", "iterations, double", "single", "corrections, about", "ms, double", "single", "double over single"], lines)
    p.why("The papers, on Fermi: refinement about twice as fast on fv1, at most five corrections. On fv3 they contradict themselves: Figure 4.33 loses, Table 5.6 wins.",
          "Here the double precision solve of a small matrix is one kernel launch, and refinement is not. So it can lose on small matrices. It wins where memory limits: see the notebook on kernels.")
    place, rows = p.best()

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "fv3" if any(parts(row)[0] == "fv3" for row in rows) else "chem97", "trefethen")):
            for precision, name in (("native", "double"), ("single", "single, refined")):
                some = [row for row in rows if parts(row)[:2] == [matrix, precision] and converged(row)]
                if some:
                    p.curve(ax, name, [number(parts(row)[2]) for row in some], [1e3 * number(row["seconds"]) for row in some])
            ax.set_xscale("log")
            ax.invert_xaxis()
            ax.set_ylim(bottom=0)
            ax.set_xlabel("‖b − Ax‖ / ‖b‖ asked for")
            ax.set_title(matrix)
        axes[0].set_ylabel("time of a solve, ms")
    p.picture(draw, f"Time by accuracy, {place}", columns=3)
