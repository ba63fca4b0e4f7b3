"""Convergence by iterations"""
from harness import GAUSS_SEIDEL, JACOBI, async_, at, group, number, parts, points, reached

TITLE = "Convergence by iterations"
SEEDS = "thesis 4.4.1 and 4.4.2, Figures 4.3 and 4.4"
METHODS = {
    "Gauss-Seidel": GAUSS_SEIDEL,
    "Jacobi": JACOBI,
    "async-(1)": async_(1),
    "async-(5)": async_(5),
    "sync-(5)": async_(5, mode="sync"),
}
MOST = {"fv1": 200, "fv2": 200, "fv3": 40000, "trefethen": 80, "chem97": 1000}
# what the text says of the figures: iterations of async-(5) over those of Gauss-Seidel, about
PUBLISHED = {
    "fv1": "about half",
    "fv2": "about half",
    "fv3": "about half",
    "trefethen": "more than half",
    "chem97": "as Jacobi's",
}


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
    file = m.file("bcsstk16")
    if file and not m.quick:  # in the place of s1rmt3m1
        cases += [
            (f"bcsstk16|{method}", f"-f {file} {options} -at 10,20,50,100")
            for method, options in {**METHODS, "async-(5), tau": async_(5) + " -ksp_bai_weight tau"}.items()
        ]
    return m.solves(cases)


def curves_of(rows):
    return {tuple(parts(some[0])): some for some in group(rows).values()}


def counts(rows, matrix):
    """{method: iterations to 1e-10}, where that is reached"""
    found = {method: reached(some, 1e-10) for (name, method), some in curves_of(rows).items() if name == matrix}
    return {method: its for method, its in found.items() if its == its}


def beside_gauss_seidel(rows, matrix):
    """Iterations of async-(5) and of Gauss-Seidel, and their ratio; more than were done where that was not enough"""
    found, did = counts(rows, matrix), int(curves_of(rows)[matrix, "async-(5)"][-1]["its"])
    more, its = ("", found["async-(5)"]) if "async-(5)" in found else ("more than ", did)
    text = f"{more}{its:.0f} of {found['Gauss-Seidel']:.0f}, {more}{its / found['Gauss-Seidel']:.2f}"
    if matrix != "chem97":
        return text
    jacobi = found["Jacobi"]
    return text + f"; Jacobi {jacobi:.0f}, as if values were {more}{its / jacobi - 1:.1f} iterations old"


def rho(rows, matrix):
    """The factor of Jacobi's last iterations above rounding, between points both even or both odd: see page()"""
    some = [(int(row["its"]), number(row["residual"])) for row in curves_of(rows)[matrix, "Jacobi"]]
    some = [(its, residual) for its, residual in some if residual > 1e-11]
    (a, r), (b, q) = [(first, then) for first, then in zip(some, some[1:]) if (then[0] - first[0]) % 2 == 0][-1]
    return (q / r) ** (1 / (b - a))


def page(p):
    its = lambda matrix, *methods: lambda rows: ", ".join(
        f"{method} {counts(rows, matrix)[method]:.0f}" for method in methods
    )
    p.compare(
        "Table B.2, ρ of Jacobi's method: Chem97ZtZ, fv1, fv3, Trefethen_2000",
        "0.7889, 0.8541, 0.9993, 0.8601",
        lambda rows: ", ".join(
            f"{name} {rho(rows, name):.4f}"
            for name in ("chem97", "fv1", "fv3", "trefethen")
            if (name, "Jacobi") in curves_of(rows)
        ),
        "here: the factor of the last iterations that compare; on chem97 even iterations compare with even ones only",
    )
    p.compare(
        "Figure 4.3, fv1, iterations to 1e-10",
        "Gauss-Seidel well before Jacobi and async-(1)",
        its("fv1", "Gauss-Seidel", "Jacobi", "async-(1)"),
        "the papers give curves and no numbers",
    )
    reasons = {
        "4.4a": (
            "chem97",
            (
                "its blocks have no couplings inside, so the age of the values decides: if they are d iterations old,"
                " it takes d + 1 times the iterations of Jacobi; see the [table of"
                " ages](#how-results-vary-from-run-to-run)"
            ),
        ),
        "4.4b": ("fv1", "on a GPU all blocks are at work at once, and some values are older than the previous iterate"),
        "4.4c": ("fv2", "as fv1"),
        "4.4d": ("fv3", "as fv1"),
        "4.4f": ("trefethen", "its blocks hold few of the entries"),
    }
    for figure, (matrix, why) in reasons.items():
        p.compare(
            f"Figure {figure}, {matrix}, async-(5) over Gauss-Seidel",
            PUBLISHED[matrix],
            lambda rows: beside_gauss_seidel(rows, matrix),
            why,
        )
    last = lambda rows, method: number(curves_of(rows)["bcsstk16", method][-1]["residual"])
    p.compare(
        "Figure 4.4e, s1rmt3m1 (ρ = 2.65)",
        "no relaxation converges",
        lambda rows: (
            f"bcsstk16 after 100 iterations: Gauss-Seidel {last(rows, 'Gauss-Seidel'):.2g}, Jacobi"
            f" {last(rows, 'Jacobi'):.2g}, async-(5) {last(rows, 'async-(5)'):.2g}, with weight τ"
            f" {last(rows, 'async-(5), tau'):.2g}"
        ),
        "s1rmt3m1 is not available; bcsstk16 has ρ = 2.38. Gauss-Seidel converges for every such matrix, slowly",
    )
    lines = []
    for place, rows in p.each():
        for matrix in MOST:
            found = counts(rows, matrix)
            if found:
                ratio = found.get("async-(5)", float("nan")) / found.get("Gauss-Seidel", float("nan"))
                lines.append(
                    [matrix, place]
                    + [
                        (
                            f"{found[method]:.0f}"
                            if method in found
                            else "–"
                            if (matrix, method) in curves_of(rows)
                            else ""
                        )
                        for method in METHODS
                    ]
                    + [f"{ratio:.2f}" if ratio == ratio else ""]
                )
            if matrix in ("fv1", "fv3") and {"async-(5)", "Gauss-Seidel"} <= set(found):
                p.check(
                    "async-(5) takes at most 0.75 of Gauss-Seidel's iterations",
                    found["async-(5)"] <= 0.75 * found["Gauss-Seidel"],
                    f"{matrix}, {place}",
                )
    p.table(
        (
            "Iterations to ‖b − Ax‖ ≤ 1e-10 ‖b‖, between the points of the curves; blocks of 448 rows. A dash: not"
            " reached."
        ),
        ["matrix", "machine"] + list(METHODS) + ["async-(5) over Gauss-Seidel"],
        lines,
    )
    p.why(
        (
            "Blocks of chem97 have no couplings inside, so only the order of updates matters: on one host thread"
            " half of the values are new, as in Gauss-Seidel's method, and in mode sync none, as in Jacobi's. On a GPU"
            " long rows make one block slow, and the others run ahead: see the [table of"
            " ages](#how-results-vary-from-run-to-run)."
        ),
        (
            "On chem97 the residual of Jacobi's method is four times as large after an odd number of iterations as"
            " after the even number before it. Iterations read between points of the curve are therefore off by up"
            " to six."
        ),
    )
    place, rows = p.best()
    curves = curves_of(rows)

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "fv3", "trefethen", "chem97")):
            for method in METHODS:
                some = curves.get((matrix, method))
                if some:
                    falls = [
                        row for k, row in enumerate(some) if not k or number(some[k - 1]["residual"]) > 1e-12
                    ]  # what follows is rounding
                    p.curve(
                        ax, method, [number(row["its"]) for row in falls], [number(row["residual"]) for row in falls]
                    )
            ax.set_yscale("log")
            ax.set_xlabel("iterations")
            ax.set_title(matrix)
        axes[0].set_ylabel("‖b − Ax‖ / ‖b‖")

    p.picture(draw, f"Figures 4.3 and 4.4: residual by iterations, blocks of 448 rows, {place}", columns=4)
