"""Smoothers of geometric multigrid"""
from harness import converged, number, parts

TITLE = "Smoothers of geometric multigrid"
SEEDS = "thesis 4.11, Figures 4.27 to 4.30, Table 4.11"
MG = (
    "-matrix line -ksp_type richardson -ksp_norm_type unpreconditioned -ksp_max_it 100 -pc_type mg -pc_mg_galerkin pmat"
    " -mg_levels_ksp_norm_type none -mg_levels_ksp_type richardson -mg_coarse_ksp_type preonly -mg_coarse_pc_type lu"
    " -mg_coarse_pc_factor_mat_solver_type petsc"
)
SMOOTHERS = {
    "Gauss-Seidel": "-mg_levels_pc_type sor -mg_levels_pc_sor_forward",
    "Jacobi": "-mg_levels_pc_type jacobi",
    "Jacobi, damped by 2/3": "-mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.6666667",
    "async-(5), as in the papers": (
        "-mg_levels_pc_type bai -mg_levels_pc_bai_mode async -mg_levels_pc_bai_its 2 -mg_levels_pc_bai_local_iters 5"
        " -mg_levels_pc_bai_block_size 512 -mg_levels_pc_bai_local_omega 1"
    ),
    "PCBAI, default": "-mg_levels_pc_type bai",
}
# smoother alone, seconds at 1e7 rows by levels: Gauss-Seidel on 4 cores, async-(5), its transfers
PUBLISHED = {
    2: (3.62690, 0.53082, 0.85057),
    3: (5.60806, 0.80394, 1.29404),
    4: (6.48827, 0.92531, 1.53345),
    5: (6.95943, 1.00858, 1.64843),
}
EPSILONS = ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1"]
# order of the blocks, rows of a block, and damping of local sweeps: which of them keeps async-(5) from smoothing
ORDERS = {
    "async": "-pc_bai_mode async",
    "sync": "-pc_bai_mode sync -pc_bai_polynomial none",
    "color": "-pc_bai_mode color",
}
ROWS = (1, 4, 16, 128, 512)
FINAL = {
    "Gauss-Seidel": "Gauss-Seidel",
    "Jacobi, damped by 2/3": "Jacobi, damped by 2/3",
    "PCBAI, default": "PCBAI, default",
}
ALONE = {"Gauss-Seidel": "-pc_type sor -pc_sor_forward", "PCBAI, default": "-pc_type bai"}
LARGE = {False: (2**14 + 1, 10), True: (2**19 + 1, 10)}


def run(m):
    gpu = bool(m.gpus)
    host = lambda name: (
        "-mat_type aij -dm_mat_type aij -dm_vec_type standard " if name == "Gauss-Seidel" and gpu else ""
    )
    cases = []
    for steps in (1, 2):
        for epsilon in EPSILONS[2:3] if m.quick else EPSILONS:
            for name, options in SMOOTHERS.items():
                cases.append(
                    (
                        f"epsilon|{name}|{epsilon}|{steps}",
                        (
                            f"{MG} {host(name)} -n 4097 -epsilon {epsilon} -pc_mg_levels 2 -mg_levels_ksp_max_it"
                            f" {steps} {options} -ksp_rtol 1e-8"
                        ),
                    )
                )
    if m.quick:
        return m.solves(cases)
    for order, options in ORDERS.items():
        cases += [
            (
                f"why|{order}|{rows}|{damp}",
                (
                    f"{MG} -n 4097 -epsilon 1e-3 -pc_mg_levels 2 -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai"
                    f" {options.replace('-pc_', '-mg_levels_pc_')} -mg_levels_pc_bai_its 2"
                    " -mg_levels_pc_bai_local_iters 5 -mg_levels_pc_bai_block_size"
                    f" {rows} -mg_levels_pc_bai_local_omega {damp} -ksp_rtol 1e-8"
                ),
            )
            for damp in ("1", "0.9")
            for rows in ROWS
        ]
    for epsilon in ("1e-6", "1e-3"):
        cases += [
            (
                f"final|{name}|{epsilon}",
                (
                    f"{MG} {host(name)} -n 4097 -epsilon {epsilon} -pc_mg_levels 2 -mg_levels_ksp_max_it 2"
                    f" {SMOOTHERS[name]} -ksp_rtol 1e-300 -ksp_max_it 30"
                ),
            )
            for name in FINAL
        ]
    for size in [2 ** (23 if gpu else 20) // 2**k + 1 for k in range(4)]:
        cases += [
            (
                f"alone|{name}|{size}",
                f"-matrix line -epsilon 1e-3 {host(name)} -n {size} -ksp_type preonly {options} -seconds 0.1",
            )
            for name, options in ALONE.items()
        ]
    n, levels = LARGE[gpu]
    for size in (1025, 4097, 16385) + ((65537, 262145) if gpu else ()):
        cases += [
            (
                f"size|{name}|{size}",
                (
                    f"{MG} {host(name)} -n {size} -epsilon 1e-3 -pc_mg_levels 2 -mg_levels_ksp_max_it 2"
                    f" {options} -ksp_rtol 1e-8"
                ),
            )
            for name, options in SMOOTHERS.items()
        ]
    names = ["Gauss-Seidel", "PCBAI, default"]
    for steps in (1, 2, 4, 6):
        cases += [
            (
                f"steps|{name}|{steps}",
                (
                    f"{MG} {host(name)} -n {n} -epsilon 1e-3 -pc_mg_levels {levels} -mg_levels_ksp_max_it"
                    f" {steps} {SMOOTHERS[name]} -ksp_rtol 1e-8 -seconds {0.2 if gpu else 0.01}"
                ),
            )
            for name in names
        ]
    for depth in (8, 10, 12):
        cases += [
            (
                f"levels|{name}|{depth}",
                (
                    f"{MG} {host(name)} -n {n} -epsilon 1e-3 -pc_mg_levels {depth} -mg_levels_ksp_max_it 2"
                    f" {SMOOTHERS[name]} -ksp_rtol 1e-8 -seconds {0.2 if gpu else 0.01}"
                ),
            )
            for name in names
        ]
    return m.solves(cases)


def keyed(rows):
    return {tuple(parts(row)): row for row in rows}


def cycles(by, *key):
    return (
        by[key]["its"]
        if key in by and converged(by[key])
        else "> 100"
        if key in by and by[key]["its"] == "100"
        else "div"
        if key in by and by[key]["n"]
        else ""
    )


def digits(ratio):
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}"


def alone(rows):
    """{smoother: seconds of a step on the finest level, on the next, ...}, and the number of points of the finest"""
    by = {key[1:]: number(row["seconds"]) for key, row in keyed(rows).items() if key[0] == "alone"}
    sizes = sorted({int(size) for _, size in by}, reverse=True)
    return {name: [by[name, str(size)] for size in sizes] for name in ALONE}, sizes[0]


def page(p):
    show = lambda steps, epsilon: lambda rows: ", ".join(
        f"{name} {cycles(keyed(rows), 'epsilon', name, epsilon, steps)}"
        for name in SMOOTHERS
        if cycles(keyed(rows), "epsilon", name, epsilon, steps)
    )
    why = (
        "undamped sweeps leave the fastest oscillation, in any order and in blocks of 128 rows or more: see [the table"
        " of orders](#smoothers-of-geometric-multigrid). As the papers' iteration smooths, its sweeps inside a block"
        " probably read new values"
    )
    p.compare(
        "Figure 4.27a, two levels, one smoothing step, cycles, ε = 1e-3",
        "async-(5) as Gauss-Seidel, Jacobi clearly more",
        show("1", "1e-3"),
        why,
    )
    p.compare("Figure 4.27b, two smoothing steps, cycles, ε = 1e-3", "fewer, in the same order", show("2", "1e-3"), "")
    sizes = lambda rows: sorted({int(key[2]) for key in keyed(rows) if key[0] == "size"})
    by_size = lambda rows, name: ", ".join(cycles(keyed(rows), "size", name, str(n)) for n in sizes(rows))
    p.compare(
        "Figure 4.28, cycles by size",
        "no influence",
        lambda rows: f"{sizes(rows)[0]} to {sizes(rows)[-1]} points: "
        + "; ".join(
            f"{name} {by_size(rows, name)}"
            for name in ("Gauss-Seidel", "PCBAI, default")
            if by_size(rows, name).strip(", ")
        ),
        "the papers: 10⁴ to 10⁸ points",
    )
    p.compare(
        "Table 4.11, Figure 4.29: time of smoothing on 5 levels over 2 levels; time of Gauss-Seidel over BAI",
        (
            f"{PUBLISHED[5][0] / PUBLISHED[2][0]:.2f}, {PUBLISHED[5][1] / PUBLISHED[2][1]:.2f};"
            f" {PUBLISHED[5][0] / PUBLISHED[5][1]:.2g}"
        ),
        lambda rows: (
            lambda t: (
                f"{sum(t['Gauss-Seidel']) / t['Gauss-Seidel'][0]:.2f},"
                f" {sum(t['PCBAI, default']) / t['PCBAI, default'][0]:.2f};"
                f" {digits(sum(t['Gauss-Seidel']) / sum(t['PCBAI, default']))} for a step on each"
            )
        )(alone(rows)[0]),
        (
            "the papers: 10⁷ points, a GPU beside 4 cores, without copies; here: one step, as the number of cycles"
            " differs, and Gauss-Seidel on one core"
        ),
    )
    best = lambda rows, name: min(
        (number(row["seconds"]), key[2])
        for key, row in keyed(rows).items()
        if key[:2] == ("steps", name) and converged(row)
    )[1]
    p.compare(
        "Figure 4.30, 10 levels: smoothing steps that take least time",
        "Gauss-Seidel 1 to 2, async-(5) 5 to 6",
        lambda rows: ", ".join(
            f"{name} {best(rows, name)}"
            for name in ("Gauss-Seidel", "PCBAI, default")
            if any(key[:2] == ("steps", name) and converged(row) for key, row in keyed(rows).items())
        ),
        "in the papers copies to the GPU made the first step expensive",
    )
    final = lambda rows: "; ".join(
        f"ε = {epsilon}: "
        + ", ".join(
            f"{name} {number(keyed(rows)['final', name, epsilon]['residual']):.1g}"
            for name in FINAL
            if ("final", name, epsilon) in keyed(rows)
        )
        for epsilon in ("1e-6", "1e-3")
    )
    p.compare(
        "Section 4.11, residual that is attained in the end",
        "Gauss-Seidel a little less than async-(5)",
        lambda rows: final(rows) if any(key[0] == "final" for key in keyed(rows)) else "",
        "after 30 cycles; so nothing is left for Gauss-Seidel to do in last cycles",
    )
    same = {}
    for place, rows in p.each():
        for steps in "12":
            for name in SMOOTHERS:
                line = tuple(cycles(keyed(rows), "epsilon", name, epsilon, steps) for epsilon in EPSILONS)
                if line[0]:
                    same.setdefault((name, steps, line), []).append(place)
    p.table(
        "Cycles of two levels to 1e-8, 4097 points, by ε; steps before and after.",
        ["smoother", "machine", "steps"] + EPSILONS,
        [[name, ", ".join(places), steps, *line] for (name, steps, line), places in same.items()],
    )
    lines = [
        [order + (f", damped by {damp}" if damp != "1" else ", undamped"), place]
        + [cycles(keyed(rows), "why", order, str(size), damp) for size in ROWS]
        for place, rows in p.each()
        for damp in ("1", "0.9")
        for order in ORDERS
        if ("why", order, "1", damp) in keyed(rows)
    ]
    p.table(
        (
            "async-(5) as smoother, one step of 2 · 5 sweeps, ε = 1e-3: cycles by order of the blocks, damping, and"
            " rows of a block. On the host blocks of mode async read the newest values. With one row a block five"
            " sweeps solve it, so that damping has no effect."
        ),
        ["order", "machine"] + list(map(str, ROWS)),
        lines,
    )
    lines = []
    for place, rows in p.each():
        by = keyed(rows)
        for what, title in (("steps", "smoothing steps"), ("levels", "levels")):
            for name in dict.fromkeys(key[1] for key in by if key[0] == what):
                keys = sorted({int(key[2]) for key in by if key[0] == what and key[1] == name})
                shown = [
                    f"{k}: {cycles(by, what, name, str(k))}"
                    + (
                        f", {1e3 * number(by[what, name, str(k)]['seconds']):.3g}"
                        if converged(by[what, name, str(k)])
                        else ""
                    )
                    for k in keys
                    if cycles(by, what, name, str(k))
                ]
                if shown:
                    lines.append([title, name, place, by[what, name, str(keys[0])]["n"], "; ".join(shown)])
        got = [
            e
            for e in EPSILONS
            if converged(by.get(("epsilon", "Gauss-Seidel", e, "1"), {}))
            and ("epsilon", "PCBAI, default", e, "1") in by
        ]
        if got:
            p.check(
                "PCBAI takes at most one cycle more than Gauss-Seidel, at every ε",
                all(
                    converged(by["epsilon", "PCBAI, default", e, "1"])
                    and number(by["epsilon", "PCBAI, default", e, "1"]["its"])
                    <= number(by["epsilon", "Gauss-Seidel", e, "1"]["its"]) + 1
                    for e in got
                ),
                place,
            )
    p.table(
        (
            "Cycles to 1e-8 and milliseconds of the whole solve, ε = 1e-3, by smoothing steps with 10 levels, and by"
            " levels with 2 steps."
        ),
        ["by", "smoother", "machine", "points", "cycles, ms"],
        lines,
    )
    lines = [[f"{levels}"] + [f"{t:.3g}" for t in times] for levels, times in PUBLISHED.items()]
    heading = ["levels", "papers: Gauss-Seidel, s", "async-(5), s", "its copies, s"]
    for place, rows in p.each():
        try:
            times, n = alone(rows)
        except (KeyError, IndexError):
            continue
        for name in ALONE:
            heading.append(f"{place}, {n} points: {name}, ms a step")
            for line, levels in zip(lines, PUBLISHED):
                line.append(f"{1e3 * sum(times[name][:levels - 1]):.3g}")
    p.table(
        (
            "Table 4.11: smoothing alone on all levels but the coarsest; the papers' of a whole solve with 10⁷ points,"
            " here of one step."
        ),
        heading,
        lines,
    )
    p.why(
        "Gauss-Seidel is on one core of the host, also beside a GPU.",
        (
            "Coarse grids are PETSc's Galerkin products, and the coarsest is solved directly. Each smoothing step of"
            " BAI is two global iterations; `PCBAI` damps local sweeps by 0.9."
        ),
    )
    place, rows = p.best(
        lambda rows: any(key[1] == "Gauss-Seidel" and converged(row) for key, row in keyed(rows).items())
    )
    by = {tuple(parts(row)): row for row in rows}

    def draw(axes):
        for ax, steps in zip(axes, "12"):
            for name in SMOOTHERS:
                some = [
                    (float(e), number(by["epsilon", name, e, steps]["its"]))
                    for e in EPSILONS
                    if converged(by.get(("epsilon", name, e, steps), {}))
                ]
                if some:
                    p.curve(ax, name, *zip(*some))
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)
            ax.set_xlabel("ε")
            ax.set_title(f"{steps} smoothing step{'s' if steps == '2' else ''}")
        axes[0].set_ylabel("cycles to 1e-8")

    p.picture(draw, f"Figure 4.27: cycles of two levels by ε where they converge, {place}", columns=2)
