"""Smoothers of geometric multigrid"""
from harness import converged, group, number, parts

TITLE = "Smoothers of geometric multigrid"
SEEDS = "thesis 4.11, Figures 4.27 to 4.30, Table 4.11"
MG = "-matrix line -ksp_type richardson -ksp_norm_type unpreconditioned -ksp_max_it 100 -pc_type mg -pc_mg_galerkin pmat -mg_levels_ksp_norm_type none -mg_levels_ksp_type richardson -mg_coarse_ksp_type preonly -mg_coarse_pc_type lu -mg_coarse_pc_factor_mat_solver_type petsc"
SMOOTHERS = {
    "Gauss-Seidel": "-mg_levels_pc_type sor -mg_levels_pc_sor_forward",
    "Jacobi": "-mg_levels_pc_type jacobi",
    "Jacobi, damped by 2/3": "-mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.6666667",
    "async-(5), as in the papers": "-mg_levels_pc_type bai -mg_levels_pc_bai_mode async -mg_levels_pc_bai_its 2 -mg_levels_pc_bai_local_iters 5 -mg_levels_pc_bai_block_size 512 -mg_levels_pc_bai_local_omega 1",
    "PCBAI, default": "-mg_levels_pc_type bai",
}
# smoother alone, seconds at 1e7 rows by levels: Gauss-Seidel on 4 cores, async-(5), its transfers
PUBLISHED = {2: (3.62690, 0.53082, 0.85057), 3: (5.60806, 0.80394, 1.29404), 4: (6.48827, 0.92531, 1.53345), 5: (6.95943, 1.00858, 1.64843)}
EPSILONS = ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1"]
LARGE = {False: (2 ** 14 + 1, 10), True: (2 ** 19 + 1, 10)}


def run(m):
    gpu = bool(m.gpus)
    host = lambda name: "-mat_type aij -dm_mat_type aij -dm_vec_type standard " if name == "Gauss-Seidel" and gpu else ""
    cases = []
    for steps in (1, 2):
        for epsilon in EPSILONS[2:3] if m.quick else EPSILONS:
            for name, options in SMOOTHERS.items():
                cases.append((f"epsilon|{name}|{epsilon}|{steps}", f"{MG} {host(name)} -n 4097 -epsilon {epsilon} -pc_mg_levels 2 -mg_levels_ksp_max_it {steps} {options} -ksp_rtol 1e-8"))
    if m.quick:
        return m.solves(cases)
    n, levels = LARGE[gpu]
    for size in (1025, 4097, 16385) + ((65537, 262145) if gpu else ()):
        cases += [(f"size|{name}|{size}", f"{MG} {host(name)} -n {size} -epsilon 1e-3 -pc_mg_levels 2 -mg_levels_ksp_max_it 2 {options} -ksp_rtol 1e-8") for name, options in SMOOTHERS.items()]
    names = ["Gauss-Seidel", "async-(5), as in the papers", "PCBAI, default"]
    for steps in (1, 2, 4, 6):
        cases += [(f"steps|{name}|{steps}", f"{MG} {host(name)} -n {n} -epsilon 1e-3 -pc_mg_levels {levels} -mg_levels_ksp_max_it {steps} {SMOOTHERS[name]} -ksp_rtol 1e-8 -seconds {0.2 if gpu else 0.01}") for name in names]
    for depth in (8, 10, 12):
        cases += [(f"levels|{name}|{depth}", f"{MG} {host(name)} -n {n} -epsilon 1e-3 -pc_mg_levels {depth} -mg_levels_ksp_max_it 2 {SMOOTHERS[name]} -ksp_rtol 1e-8 -seconds {0.2 if gpu else 0.01}") for name in names]
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        cycles = lambda key: by[key]["its"] if key in by and converged(by[key]) else "> 100" if key in by and by[key]["its"] == "100" else "div" if key in by else ""
        for steps in "12":
            lines = [[name] + [cycles(("epsilon", name, epsilon, steps)) for epsilon in EPSILONS] for name in SMOOTHERS]
            p.table(f"Cycles of two levels to 1e-8, {steps} smoothing step{'s' if steps == '2' else ''} before and after, 4097 points, by ε; {place}.", ["ε"] + EPSILONS, lines)
        got = [epsilon for epsilon in EPSILONS if converged(by.get(("epsilon", "Gauss-Seidel", epsilon, "1"), {})) and ("epsilon", "PCBAI, default", epsilon, "1") in by]
        if got:
            p.check(f"{place}: PCBAI takes at most one cycle more than Gauss-Seidel, at every ε", all(converged(by["epsilon", "PCBAI, default", e, "1"]) and number(by["epsilon", "PCBAI, default", e, "1"]["its"]) <= number(by["epsilon", "Gauss-Seidel", e, "1"]["its"]) + 1 for e in got))
        sizes = sorted({int(key[2]) for key in by if key[0] == "size"})
        if sizes:
            p.table(f"The same by number of points, ε = 1e-3, two smoothing steps, {place}.", ["points"] + list(map(str, sizes)), [[name] + [cycles(("size", name, str(size))) for size in sizes] for name in SMOOTHERS])
        for what, title in (("steps", "smoothing steps"), ("levels", "levels")):
            keys = sorted({int(key[2]) for key in by if key[0] == what})
            names = list(dict.fromkeys(key[1] for key in by if key[0] == what))
            if keys:
                some = by[what, names[0], str(keys[0])]
                show = lambda key: f"{cycles(key)}, {1e3 * number(by[key]['seconds']):.3g}" if key in by and converged(by[key]) else cycles(key)
                p.table(f"Cycles to 1e-8 and milliseconds of the whole solve, by {title}; {some['n']} points, ε = 1e-3{'; 10 levels' if what == 'steps' else '; two smoothing steps'}; {place}.", [title] + list(map(str, keys)), [[name] + [show((what, name, str(key))) for key in keys] for name in names])
    p.table("For comparison, Table 4.11: seconds of the smoother alone, 1e7 points.", ["levels", "Gauss-Seidel, 4 cores", "async-(5), GPU", "its transfers"], [[str(k)] + [f"{t:.3g}" for t in row] for k, row in PUBLISHED.items()])
    p.why("In the papers async-(5) takes as many cycles as Gauss-Seidel, and undamped Jacobi clearly more. Their best steps are 1 to 2 for Gauss-Seidel and 5 to 6 for async-(5).",
          "They time the smoother alone, in stencils on the finest levels; here whole solves are timed, with matrices, on all levels.",
          "Coarse grids are PETSc's Galerkin products, and the coarsest is solved directly. Each smoothing step of BAI is two global iterations.",
          "With undamped sweeps, as their formula has it, the fastest oscillation stays, in Jacobi's method as in async-(5). That theirs smooths says that blocks read new values inside. `PCBAI` damps local sweeps.")
    place, rows = p.best()
    by = {tuple(parts(row)): row for row in rows}

    def draw(axes):
        for ax, steps in zip(axes, "12"):
            for name in SMOOTHERS:
                some = [(float(e), number(by["epsilon", name, e, steps]["its"])) for e in EPSILONS if converged(by.get(("epsilon", name, e, steps), {}))]
                if some:
                    p.curve(ax, name, *zip(*some))
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)
            ax.set_xlabel("ε")
            ax.set_title(f"{steps} smoothing step{'s' if steps == '2' else ''}")
        axes[0].set_ylabel("cycles to 1e-8")
    p.picture(draw, f"Two levels: cycles by ε where they converge, {place}", columns=2)
