"""Convergence by iterations"""
from harness import GAUSS_SEIDEL, JACOBI, async_, at, group, number, parts, points, reached

TITLE = "Convergence by iterations"
SEEDS = "thesis 4.4.1 and 4.4.2, Figures 4.3 and 4.4"
METHODS = {"Gauss-Seidel": GAUSS_SEIDEL, "Jacobi": JACOBI, "async-(1)": async_(1), "async-(5)": async_(5), "sync-(5)": async_(5, mode="sync")}
MOST = {"fv1": 200, "fv2": 200, "fv3": 40000, "trefethen": 80, "chem97": 300}
# what the text says of the figures: iterations of async-(5) over those of Gauss-Seidel, about
PUBLISHED = {"fv1": "about half", "fv2": "about half", "fv3": "about half", "trefethen": "more than half", "chem97": "as Jacobi's"}


def run(m):
    matrices = ["trefethen"] if m.quick else ["fv1", "fv3", "trefethen", "chem97"] + (["fv2"] if m.gpus else [])
    cases = []
    for matrix in matrices:
        for method, options in METHODS.items():
            if matrix == "fv3" and not m.gpus and method not in ("Gauss-Seidel", "async-(5)"):
                continue
            slow = method in ("Jacobi", "async-(1)")
            most = MOST[matrix] // (2 if matrix == "fv3" and not slow else 1) * (3 if slow and matrix != "fv3" else 1)
            cases.append((f"{matrix}|{method}", f"{m.matrix(matrix)} {options} {at(points(most))}"))
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        curves = {tuple(parts(some[0])): some for some in group(rows).values()}
        lines = []
        for matrix in MOST:
            found = {method: reached(curves[matrix, method], 1e-10) for method in METHODS if (matrix, method) in curves}
            if found:
                ratio = found.get("async-(5)", 0) / found.get("Gauss-Seidel", float("nan"))
                lines.append([matrix] + [f"{found[method]:.0f}" if found.get(method, float("nan")) == found.get(method) else ("–" if method in found else "") for method in METHODS] + [f"{ratio:.2f}" if ratio == ratio else "", PUBLISHED[matrix]])
        p.table(f"Iterations to ‖b − Ax‖ ≤ 1e-10 ‖b‖, between the points of the curves; blocks of 448 rows, {place}. A dash: not reached.", ["matrix"] + list(METHODS) + ["async-(5) over Gauss-Seidel", "papers"], lines)
        for matrix, limit in (("fv1", 0.75), ("fv3", 0.75)):
            if (matrix, "async-(5)") in curves and (matrix, "Gauss-Seidel") in curves:
                p.check(f"{matrix}, {place}: async-(5) takes at most {limit} of Gauss-Seidel's iterations", reached(curves[matrix, "async-(5)"], 1e-10) <= limit * reached(curves[matrix, "Gauss-Seidel"], 1e-10))
    p.why("The papers give curves and no numbers. Recomputed in exact arithmetic, Gauss-Seidel takes 78, 17350 and 14 iterations on fv1, fv3 and Trefethen_2000.",
          "On a GPU all blocks are at work at once, and values in mode async are one to two iterations old. That costs iterations, which are cheaper in turn.",
          "It costs most on Chem97ZtZ, whose blocks have nothing to sweep over inside: there asynchronous values are all that differs from Jacobi's method.",
          "s1rmt3m1, on which nothing converges, is not generated here. With weight tau such matrices converge: see the notebook on weights.")
    place, rows = p.best()
    curves = {tuple(parts(some[0])): some for some in group(rows).values()}

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "fv3", "trefethen")):
            for method in METHODS:
                some = curves.get((matrix, method))
                if some:
                    falls = [row for k, row in enumerate(some) if not k or number(some[k - 1]["residual"]) > 1e-12]  # what follows is rounding
                    p.curve(ax, method, [number(row["its"]) for row in falls], [number(row["residual"]) for row in falls])
            ax.set_yscale("log")
            ax.set_xlabel("iterations")
            ax.set_title(matrix)
        axes[0].set_ylabel("‖b − Ax‖ / ‖b‖")
    p.picture(draw, f"Residual by iterations, blocks of 448 rows, {place}", columns=3)
