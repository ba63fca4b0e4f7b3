"""Weights omega and l1, beside SOR"""
from harness import GAUSS_SEIDEL, async_, converged, group, number, parts

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
                cases.append((f"omega|{matrix}|{weight}|{omega}", f"{which} {async_(5, 512, 'sync')} -ksp_bai_weight {weight} -ksp_bai_omega {omega} {stop + every}"))
                if m.gpus and omega in (1.0, 1.1, 1.2):
                    cases.append((f"time|{matrix}|{weight}|{omega}", f"{which} {async_(5, 512)} -ksp_bai_weight {weight} -ksp_bai_omega {omega} {stop} -seconds 0.05"))
            if omega >= 1 and (matrix != "fv3" or omega in (1.0, 1.2, 1.4)):  # which takes seconds
                cases.append((f"omega|{matrix}|SOR|{omega}", f"{which} {GAUSS_SEIDEL} -pc_sor_omega {omega} {stop}"))
    for size in SIZES[:1] if m.quick else SIZES:
        for weight in ("none", "l1"):
            cases.append((f"size|trefethen|{weight}|{size}", f"-matrix trefethen {async_(5, size, 'sync').replace('local_iters 6', 'local_iters 5')} -ksp_bai_weight {weight} {stop + every}"))
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        its = lambda key: by[key]["its"] if key in by and converged(by[key]) else "div" if key in by and "DIVERGED" in by[key]["reason"] else "–" if key in by else ""
        lines = [[f"{matrix}, {name}"] + [its(("omega", matrix, weight, str(omega))) for omega in OMEGAS] for matrix in MATRICES for weight, name in (("none", "async-(5)"), ("l1", "ℓ1"), ("SOR", "SOR")) if ("omega", matrix, weight, "1.0") in by]
        less = [row for row in rows if parts(row)[:3] == ["omega", "chem97", "none"] and float(parts(row)[3]) > 1.118 and converged(row)]
        p.table(f"Iterations to 1e-10 by ω; async-(5) in mode sync, blocks of 512 rows, {place}. div: DIVERGED_DTOL or the like.", ["ω"] + [str(omega) for omega in OMEGAS], lines)
        if ("omega", "chem97", "none", "1.1") in by:
            p.check(f"chem97, {place}: converges at ω = 1.1, and at no ω above 2/(1 + ρ) = 1.118 of those tried", converged(by["omega", "chem97", "none", "1.1"]) and not less)
        lines = [[name] + [its(("size", "trefethen", weight, str(size))) for size in SIZES] for weight, name in (("none", "without"), ("l1", "ℓ1"))]
        lines.append(["ℓ1, recomputed from the papers"] + [str(RECOMPUTED["l1"][size]) for size in SIZES])
        p.table(f"Trefethen_2000, iterations to 1e-10 by block size, five updates, mode sync, {place}.", ["rows of a block"] + list(map(str, SIZES)), lines)
        if ("size", "trefethen", "l1", "512") in by:
            p.check(f"{place}: ℓ1 halves the iterations on Trefethen_2000 with blocks of 512", number(its(("size", "trefethen", "l1", "512"))) <= 0.55 * number(its(("size", "trefethen", "none", "512"))))
        if place != "host":
            lines = []
            for matrix in MATRICES:
                best = {weight: min((number(row["seconds"]) for key, row in by.items() if key[:3] in (("time", matrix, weight), ("omega", matrix, "SOR")) and key[2] == weight and converged(row)), default=float("nan")) for weight in ("none", "l1", "SOR")}
                lines.append([matrix] + [f"{1e3 * best[w]:.3g}" for w in best] + [f"{best['SOR'] / min(best['none'], best['l1']):.3g}"])
            p.table(f"Milliseconds to 1e-10 with the best ω, mode async, {place}; SOR on the host, with a look at each residual.", ["matrix", "async-(5)", "ℓ1", "SOR", "SOR over the better one"], lines)
    p.why("The papers: on fv1 and fv3 more than ten times as fast as SOR, on Trefethen_2000 with ℓ1 about five times. ω ≥ 1.4 diverged on every matrix.",
          "They report that Chem97ZtZ diverges at ω = 1.1. Their own bound for it is 2/(1 + ρ) = 1.118.")
    place, rows = p.best()

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "trefethen", "chem97")):
            for weight, name in (("none", "async-(5)"), ("l1", "async-(5), ℓ1"), ("SOR", "SOR")):
                some = [row for row in rows if parts(row)[:3] == ["omega", matrix, weight] and converged(row)]
                if some:
                    p.curve(ax, name, [number(parts(row)[3]) for row in some], [number(row["its"]) for row in some])
            ax.set_ylim(0, 4 * max(min(line.get_ydata()) for line in ax.get_lines()))
            ax.set_xlabel("ω")
            ax.set_title(matrix)
        axes[0].set_ylabel("iterations to 1e-10")
    p.picture(draw, f"Iterations by ω where they converge in not too many, blocks of 512 rows, mode sync, {place}", columns=3)
