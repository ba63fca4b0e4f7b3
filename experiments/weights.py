"""Weights omega and l1, beside SOR"""
from harness import GAUSS_SEIDEL, async_, converged, number, parts

TITLE = "Weights ω and ℓ1, beside SOR"
SEEDS = "thesis 4.10.3, Figures 4.18 to 4.20; weights paper"
MATRICES = ["fv1", "fv3", "trefethen", "chem97"]
OMEGAS = [0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
SIZES = [32, 64, 128, 256, 512]
# recomputed in synchronous order
RECOMPUTED = {"l1": {32: 28, 64: 24, 128: 21, 256: 17, 512: 14}}


def run(m):
    stop = "-ksp_rtol 1e-10 -ksp_max_it 30000"
    every = " -ksp_bai_check_interval 1"
    cases = []
    for matrix in ["trefethen"] if m.quick else MATRICES if m.gpus else ["fv1", "trefethen", "chem97"]:
        which = m.matrix(matrix)
        for omega in OMEGAS[2:4] if m.quick else OMEGAS:
            for weight in ("none", "l1"):
                cases.append(
                    (
                        f"omega|{matrix}|{weight}|{omega}",
                        (
                            f"{which} {async_(5, 512, 'sync')} -ksp_bai_weight {weight} -ksp_bai_omega"
                            f" {omega} {stop + every}"
                        ),
                    )
                )
                if m.gpus and omega in (1.0, 1.1, 1.2):
                    cases.append(
                        (
                            f"time|{matrix}|{weight}|{omega}",
                            (
                                f"{which} {async_(5, 512)} -ksp_bai_weight {weight} -ksp_bai_omega"
                                f" {omega} {stop} -seconds 0.05"
                            ),
                        )
                    )
            if omega >= 1 and (matrix != "fv3" or omega in (1.0, 1.2, 1.4)):  # which takes seconds
                cases.append((f"omega|{matrix}|SOR|{omega}", f"{which} {GAUSS_SEIDEL} -pc_sor_omega {omega} {stop}"))
    for size in SIZES[:1] if m.quick else SIZES:
        for weight in ("none", "l1"):
            cases.append(
                (
                    f"size|trefethen|{weight}|{size}",
                    (
                        "-matrix trefethen"
                        f" {async_(5, size, 'sync').replace('local_iters 6', 'local_iters 5')} -ksp_bai_weight"
                        f" {weight} {stop + every}"
                    ),
                )
            )
    return m.solves(cases)


def its_of(rows):
    """Iterations of a case by its name, or why there are none"""
    by = {tuple(parts(row)): row for row in rows}
    return lambda *key: (
        by[key]["its"]
        if key in by and converged(by[key])
        else "div"
        if key in by and "DIVERGED" in by[key]["reason"]
        else "–"
        if key in by
        else ""
    )


def fastest(rows, matrix, weight):
    kinds = ("time", "omega") if weight == "SOR" else ("time",)
    return min(
        number(row["seconds"])
        for row in rows
        if parts(row)[0] in kinds and parts(row)[1:3] == [matrix, weight] and converged(row)
    )


def page(p):
    for figure, matrix, said, why in (
        ("4.18a", "chem97", "ω = 1.1 diverges", "the papers' own bound is 2/(1 + ρ) = 1.118"),
        ("4.18b", "fv1", "ω > 1 helps, ω ≥ 1.4 diverges", ""),
        ("4.18c", "fv3", "ω > 1 helps, ω ≥ 1.4 diverges", ""),
        ("4.18d", "trefethen", "ω > 1 hardly helps, ω ≥ 1.4 diverges", "in mode sync it converges to 1.5"),
    ):
        p.compare(
            f"Figure {figure}, {matrix}, iterations at ω = 1, 1.1, 1.2, 1.4",
            said,
            lambda rows: ", ".join(
                filter(None, (its_of(rows)("omega", matrix, "none", omega) for omega in ("1.0", "1.1", "1.2", "1.4")))
            ),
            why,
        )
    p.compare(
        "Figure 4.19, Trefethen_2000, iterations with blocks of 32, 64, 128, 256, 512; with ℓ1",
        "all alike; half of them with ℓ1 at 512",
        lambda rows: "; ℓ1 ".join(
            ", ".join(its_of(rows)("size", "trefethen", weight, str(size)) for size in SIZES)
            for weight in ("none", "l1")
        ),
        "recomputed from the papers' formula with ℓ1: " + ", ".join(str(its) for its in RECOMPUTED["l1"].values()),
    )
    for figure, matrix, said in (
        ("4.20a", "chem97", "above 1 at ω = 1"),
        ("4.20b", "fv1", "above 10"),
        ("4.20c", "fv3", "above 10"),
        ("4.20d", "trefethen", "nearly 5, with ℓ1"),
    ):
        p.compare(
            f"Figure {figure}, {matrix}, time of SOR over the better of async-(5) and ℓ1",
            said,
            lambda rows: (
                f"{fastest(rows, matrix, 'SOR') / min(fastest(rows, matrix, 'none'), fastest(rows, matrix, 'l1')):.2g}"
            ),
            {
                "chem97": "SOR takes fewer iterations, and an asynchronous one on a GPU more: see Figure 4.4a",
                "trefethen": "today's host needs little time for so small a matrix",
            }.get(matrix, ""),
        )
    place, rows = p.best()
    its = its_of(rows)
    p.table(
        f"Iterations to 1e-10 by ω; async-(5) in mode sync, blocks of 512 rows, {place}. div: diverged.",
        ["ω"] + [str(omega) for omega in OMEGAS],
        [
            [f"{matrix}, {name}"] + [its("omega", matrix, weight, str(omega)) for omega in OMEGAS]
            for matrix in MATRICES
            for weight, name in (("none", "async-(5)"), ("l1", "ℓ1"), ("SOR", "SOR"))
            if its("omega", matrix, weight, "1.0")
        ],
    )
    lines = []
    for place, rows in p.each():
        its, by = its_of(rows), {tuple(parts(row)): row for row in rows}
        if its("omega", "chem97", "none", "1.1"):
            p.check(
                "chem97 converges at ω = 1.1, and at no ω above 2/(1 + ρ) = 1.118 of those tried",
                its("omega", "chem97", "none", "1.1").isdigit()
                and not any(its("omega", "chem97", "none", str(omega)).isdigit() for omega in OMEGAS if omega > 1.118),
                place,
            )
        if its("size", "trefethen", "l1", "512"):
            p.check(
                "ℓ1 halves the iterations on Trefethen_2000 with blocks of 512",
                number(its("size", "trefethen", "l1", "512")) <= 0.55 * number(its("size", "trefethen", "none", "512")),
                place,
            )
        lines += [
            [matrix] + [f"{1e3 * fastest(rows, matrix, weight):.3g}" for weight in ("none", "l1", "SOR")]
            for matrix in MATRICES
            if place != "host" and ("time", matrix, "none", "1.0") in by
        ]
    p.table(
        "Milliseconds to 1e-10 with the best ω, mode async, GPU; SOR on the host computes each residual.",
        ["matrix", "async-(5)", "ℓ1", "SOR"],
        lines,
    )
    place, rows = p.best()

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "trefethen", "chem97")):
            for weight, name in (("none", "async-(5)"), ("l1", "async-(5), ℓ1"), ("SOR", "SOR")):
                some = [row for row in rows if parts(row)[:3] == ["omega", matrix, weight] and converged(row)]
                if some:
                    p.curve(ax, name, [number(parts(row)[3]) for row in some], [number(row["its"]) for row in some])
            if ax.get_lines():
                ax.set_ylim(0, 4 * max(min(line.get_ydata()) for line in ax.get_lines()))
            ax.set_xlabel("ω")
            ax.set_title(matrix)
        axes[0].set_ylabel("iterations to 1e-10")

    p.picture(draw, f"Figures 4.18 and 4.20: iterations by ω, blocks of 512 rows, mode sync, {place}", columns=3)
