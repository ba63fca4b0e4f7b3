"""Block-asynchronous iterative refinement"""
from harness import async_, at, converged, group, number, parts, points, reached

TITLE = "Block-asynchronous iterative refinement"
SEEDS = "thesis 4.13, Figures 4.34 to 4.37"
# where the curves of Figure 4.34 end, about, all of them near rounding
PUBLISHED = {"chem97": 40, "fv1": 30, "fv3": 3500, "trefethen": 14}
MOST = {"chem97": 200, "fv1": 80, "fv3": 9000, "trefethen": 24}
SMALL = {"chem97": 1e-14, "fv1": 1e-14, "fv3": 1e-12, "trefethen": 1e-14}
SINGLE = "-ksp_bai_precision single"
CURVES = {"without": "", "double": "-ksp_bai_refine async", "single": f"-ksp_bai_refine async {SINGLE}"}
SOLVES = {
    "async-(15)": "",
    "refine sync, double": "-ksp_bai_refine sync",
    "refine sync, single": f"-ksp_bai_refine sync {SINGLE}",
    "refine async, double": "-ksp_bai_refine async",
    "refine async, single": f"-ksp_bai_refine async {SINGLE}",
}
TOLERANCES = ["1e-4", "1e-8", "1e-12"]


def run(m):
    cases = []
    for matrix in ["trefethen"] if m.quick else PUBLISHED:
        slow = matrix == "fv3" and not m.gpus
        for mode in ("async", "sync"):
            for name, options in CURVES.items():
                if not slow or (mode, name) == ("async", "single"):
                    cases.append(
                        (
                            f"{matrix}|{mode}|{name}",
                            f"{m.matrix(matrix)} {async_(15, 512, mode)} {options} {at(points(MOST[matrix]))}",
                        )
                    )
        for name, options in SOLVES.items():
            for rtol in TOLERANCES[:1] if m.quick else TOLERANCES:
                if not slow:
                    cases.append(
                        (
                            f"{matrix}|{rtol}|{name}",
                            f"{m.matrix(matrix)} {async_(15, 512)} {options} -ksp_rtol {rtol} -ksp_max_it 40000"
                            f" -seconds {0.1 if m.gpus else 0.05}"
                            + (" -find refine_sync," if name.startswith("refine sync") else ""),
                        )
                    )
    return m.solves(cases)


def curves_of(rows):
    return {tuple(parts(some[0])): some for some in group(rows).values()}


def ends(rows, matrix):
    """{(mode, precision): iterations to what is small}"""
    return {
        key[1:]: reached(some, SMALL[matrix])
        for key, some in curves_of(rows).items()
        if key[0] == matrix and key[1] in ("async", "sync")
    }


def page(p):
    text = lambda its, matrix: f"{its:.0f}" if its > 0 else f"> {MOST[matrix]}"
    why = {
        "chem97": "no entry couples rows of a block, so everything depends on the order of blocks",
        "fv1": (
            "the papers' are read from the axes; on the host a block reads the newest values, in mode sync the previous"
            " iterate"
        ),
        "fv3": "",
        "trefethen": "in single precision the papers take three times as many; here values are scaled before rounding",
    }
    for figure, matrix in zip(("4.34a", "4.34b", "4.34c", "4.34d"), PUBLISHED):
        p.compare(
            f"Figure {figure}, {matrix}, iterations to {SMALL[matrix]:g}, double and single",
            f"about {PUBLISHED[matrix]}",
            lambda rows: ", ".join(
                f"{mode} "
                + " and ".join(
                    text(ends(rows, matrix)[mode, name], matrix)
                    for name in ("double", "single")
                    if (mode, name) in ends(rows, matrix)
                )
                for mode in ("async", "sync")
                if (mode, "single") in ends(rows, matrix)
            ),
            why[matrix],
        )

    def solve(rows, matrix, name):
        row = curves_of(rows)[matrix, "1e-12", name][0]
        if not converged(row):
            raise KeyError
        return row

    per = lambda rows, matrix, name: number(solve(rows, matrix, name)["seconds"])
    single = lambda rows: ", ".join(
        f"{matrix} {per(rows, matrix, 'refine async, single') / per(rows, matrix, 'refine async, double'):.2f}"
        for matrix in PUBLISHED
        if (matrix, "1e-12", "refine async, single") in curves_of(rows)
    )
    p.compare(
        "Figure 4.35, by blocks, time in single over double precision",
        "below 1",
        single,
        "an iteration takes as long in both precisions, as the matrix is on the chip",
    )
    per_step = lambda row: number(row["its"]) / number(row["found"])
    steps = lambda rows: ", ".join(
        f"{matrix} {per_step(solve(rows, matrix, 'refine sync, single')):.1f} and"
        f" {solve(rows, matrix, 'refine async, single')['its']}"
        for matrix in PUBLISHED
        if (matrix, "1e-12", "refine sync, single") in curves_of(rows)
    )
    p.compare(
        "Figure 4.36, outer steps in single precision, synchronous and by blocks",
        "5, and three times as many or more",
        steps,
        "a synchronous step is many iterations",
    )
    p.compare(
        "Figure 4.37, time by blocks over synchronous, single precision",
        "above 1",
        lambda rows: ", ".join(
            f"{matrix} {per(rows, matrix, 'refine async, single') / per(rows, matrix, 'refine sync, single'):.2g}"
            for matrix in PUBLISHED
            if (matrix, "1e-12", "refine sync, single") in curves_of(rows)
        ),
        "",
    )
    p.compare(
        "Figure 4.32 again, time with refinement in double precision over without",
        "1: the overhead is negligible",
        lambda rows: ", ".join(
            f"{matrix} {per(rows, matrix, 'refine sync, double') / per(rows, matrix, 'async-(15)'):.2g}"
            for matrix in PUBLISHED
            if (matrix, "1e-12", "refine sync, double") in curves_of(rows)
        ),
        (
            "a solve of a small matrix is one launch, and each correction adds several; on fv3, which takes long, that"
            " is little"
        ),
    )
    lines = []
    for place, rows in p.each():
        for matrix in PUBLISHED:
            found = ends(rows, matrix)
            if ("async", "single") in found:
                p.check(
                    "mode async: corrections in single precision lead to 1e-12",
                    found["async", "single"] > 0
                    or any(
                        converged(row) for row in curves_of(rows).get((matrix, "1e-12", "refine async, single"), [])
                    ),
                    f"{matrix}, {place}",
                )
            if ("sync", "double") in found and ("sync", "without") in found:
                p.check(
                    (
                        "mode sync: refinement in double precision takes as many iterations as none, within a"
                        " hundredth; in single at most a twentieth more"
                    ),
                    abs(found["sync", "double"] / found["sync", "without"] - 1) < 0.01
                    and found["sync", "single"] <= 1.05 * found["sync", "double"],
                    f"{matrix}, {place}",
                )
            solves = {
                name: curves_of(rows)[matrix, "1e-12", name][0]
                for name in SOLVES
                if (matrix, "1e-12", name) in curves_of(rows)
            }
            if solves:
                lines.append(
                    [matrix, place]
                    + [
                        (
                            f"{1e3 * number(solves[name]['seconds']):.3g}, {solves[name]['its']}"
                            if name in solves and converged(solves[name])
                            else "–"
                        )
                        for name in SOLVES
                    ]
                )
    p.table(
        "Milliseconds and global iterations of a solve to 1e-12 in mode async, 15 sweeps in blocks of 512 rows.",
        ["matrix", "machine"] + list(SOLVES),
        lines,
    )
    p.why(
        (
            "In exact arithmetic a block whose correction starts at zero computes the same with and without refinement."
            " So in double precision all curves of mode sync coincide."
        ),
        (
            "On the GPU blocks that refine run another kernel, and so with another staleness in mode async. Refinement"
            " gains no time there: without it a solve of a small matrix is one launch."
        ),
    )
    place, rows = p.best()
    curves = {tuple(parts(some[0])): some for some in group(rows).values()}
    shown = [matrix for matrix in ("fv1", "fv3", "trefethen", "chem97") if any(key[0] == matrix for key in curves)]

    def draw(axes):
        for ax, matrix in zip(axes, shown):
            for mode, name in (("async", "double"), ("async", "single"), ("sync", "double"), ("sync", "single")):
                some = curves.get((matrix, mode, name))
                if some:
                    falls = [
                        row for k, row in enumerate(some) if not k or number(some[k - 1]["residual"]) > 1e-14
                    ]  # what follows is rounding
                    p.curve(
                        ax,
                        f"mode {mode}, {name}",
                        [number(row["its"]) for row in falls],
                        [number(row["residual"]) for row in falls],
                    )
            ax.set_yscale("log")
            ax.set_xlabel("iterations")
            ax.set_title(matrix)
        axes[0].set_ylabel("‖b − Ax‖ / ‖b‖")

    p.picture(draw, f"Figure 4.34: refinement by blocks, 15 sweeps in blocks of 512 rows, {place}", columns=len(shown))
