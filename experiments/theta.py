"""Local sweeps that depend on the block"""
from harness import async_, converged, number, parts

TITLE = "θ: local sweeps that depend on the block"
SEEDS = "thesis 4.10.4 and 4.10.5, Figures 4.21 and 4.22, Table 4.9"
# local sweeps of all blocks in a global iteration: with theta, without
PUBLISHED = {28: (318, 355), 56: (157, 175), 112: (76, 85), 224: (37, 40), 448: (16, 20)}


def run(m):
    cases, every = [], "-ksp_bai_check_interval 1"
    for size in [448] if m.quick else PUBLISHED:
        for name, more in (("none", ""), ("theta", "-ksp_bai_theta"), ("l1", "-ksp_bai_weight l1")):
            cases.append((f"{size}|{name}", f"-matrix trefethen {async_(5, size, 'sync').replace('local_iters 6', 'local_iters 5')} {more} -ksp_rtol 1e-10 -ksp_max_it 1000 {every}" + (" -find local_sweeps_in_a_global_iteration" if name == "theta" else "")))
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        lines = []
        for size, (theta, without) in PUBLISHED.items():
            if (str(size), "theta") in by:
                ours, blocks = by[str(size), "theta"], -(-2000 // size)
                lines.append([str(size), f"{theta} / {without}", f"{number(ours['found']):.0f} / {5 * blocks}"] + [by[str(size), name]["its"] if converged(by[str(size), name]) else "–" for name in ("none", "theta", "l1")])
                p.check(f"{place}, blocks of {size}: θ does no more local sweeps than without", number(ours["found"]) <= 5 * blocks)
        few = [1 - number(by[str(size), "theta"]["its"]) / number(by[str(size), "none"]["its"]) for size in PUBLISHED if (str(size), "theta") in by and (str(size), "none") in by]
        p.text(f"With θ, {100 * min(few):.0f} to {100 * max(few):.0f} % fewer iterations, {place}; the papers: about 30 %." if few else "")
        p.table(f"Trefethen_2000, five updates, mode sync, {place}: local sweeps of all blocks in a global iteration, with θ / without, and iterations to 1e-10.", ["rows of a block", "papers, sweeps", "ours, sweeps", "iterations, plain", "with θ", "with ℓ1"], lines)
    p.why("The papers average the quotients of the rows of a block. Here the sums of its rows are divided, the diagonal left out.",
          "Table 4.9 is said to be of Trefethen_20000; its numbers of blocks are those of 2000 rows.",
          "As they say, ℓ1 wins with large blocks, and θ with small ones.")
