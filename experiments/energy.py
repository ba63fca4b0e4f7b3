"""Energy, and a host that sleeps"""
from harness import GAUSS_SEIDEL, JACOBI, async_, converged, number, parts

TITLE = "Energy, and a host that sleeps"
SEEDS = "thesis 5.3.3, 5.4.3 and 5.4.4, Figures 5.4 to 5.6, Tables 5.4 to 5.6"
# on fv3, with idle-wait: seconds, watts, watt-hours
PUBLISHED = {"Jacobi": (406.10, 124.85, 14.08), "async-(5)": (133.09, 118.98, 4.38), "refinement": (67.69, 129.24, 2.43)}
SOLVERS = {
    "Jacobi": JACOBI,
    "fused Jacobi": async_(1, mode="sync"),
    "async-(5)": async_(5),
    "refinement": async_(5) + " -ksp_bai_precision single",
    "default": "-ksp_type bai",
    "CG": "-ksp_type cg -pc_type jacobi -ksp_norm_type unpreconditioned",
}
NAMES = {"Jacobi": "Jacobi, PETSc", "fused Jacobi": "Jacobi, in one launch", "refinement": "async-(5), refinement", "default": "KSPBAI, default", "CG": "CG + Jacobi, PETSc"}


def run(m):
    seconds = 0.05 if m.quick else 3 if m.gpus else 0.3
    stop = f"-ksp_rtol 1e-10 -ksp_max_it 60000 -seconds {seconds}"
    matrix = "-matrix fv1" if m.quick else "-matrix fv3"
    cases = []
    for name, options in SOLVERS.items():
        if not m.gpus and not m.quick and name in ("fused Jacobi", "Jacobi", "refinement"):
            continue
        for idle in ("true", "false") if "bai" in options and m.gpus else ("true",):
            cases.append((f"{name}|{idle}", f"{matrix} {options} {stop}" + (f" -ksp_bai_idle_wait {idle}" if "bai" in options else "")))
    if m.gpus:  # solves of more than a millisecond, which sleeping is not to slow down
        for name, options in (("fv3, async-(5) to 1e-2", f"-matrix fv3 {async_(5)} -ksp_rtol 1e-2 -ksp_max_it 60000"), ("100³, default to 1e-8", "-matrix laplace3d -n 100 -ksp_type bai -ksp_rtol 1e-8"), ("48³, default to 1e-10", "-matrix laplace3d -n 48 -ksp_type bai -ksp_rtol 1e-10"),
                              ("128³, 500 iterations", f"-matrix laplace3d -n 128 {async_(5, 128)} -ksp_rtol 1e-300 -ksp_max_it 500")):
            cases += [(f"slow|{name}|{idle}", f"{options} -ksp_bai_idle_wait {idle} -seconds 1.5") for idle in ("true", "false")]
    return m.solves(cases)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        joules = lambda name: number(by.get((name, "true"), {}).get("gpu_joules"))
        if not any(joules(name) > 0 for name in SOLVERS):
            p.text(f"Energy, {place}: no counter could be read, neither of a GPU nor of the processors, so there is nothing to say.")
            continue
        base = joules("Jacobi")
        lines = []
        for name in SOLVERS:
            row = by.get((name, "true"))
            if row and converged(row):
                published = PUBLISHED.get(name)
                lines.append([NAMES.get(name, name), f"{published[2]} Wh" if published else "", f"{published[2] / 14.08:.2f}" if published else "", f"{1e3 * number(row['seconds']):.3g}", f"{joules(name):.3g}", f"{joules(name) / base:.3g}", f"{joules(name) / number(row['seconds']):.0f}", f"{number(row['cpu_joules']):.3g}" if number(row["cpu_joules"]) == number(row["cpu_joules"]) else "not readable"])
        p.table(f"fv3 to 1e-10, {place}: the GPU's energy of a solve, repeated for three seconds; the papers' energy is that of GPU and processors.", ["", "papers", "over Jacobi", "ms", "joules", "over Jacobi", "watts", "processors, joules"], lines)
        if joules("fused Jacobi") > 0:
            p.text(f"Most of the gain over PETSc's Jacobi is that of one launch instead of one for each operation. Over Jacobi in one launch, async-(5) takes {joules('async-(5)') / joules('fused Jacobi'):.2f} of the energy, and the default solve {joules('default') / joules('fused Jacobi'):.2g}.")
        p.check("async-(5) takes at most 0.33 of the energy of PETSc's Jacobi", joules("async-(5)") <= 0.33 * base)
        p.check("the default solve takes at most 0.02 of it", joules("default") <= 0.02 * base)
        p.check("and at most 0.1 of that of CG", joules("default") <= 0.1 * joules("CG"))
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        lines = []
        for key, row in by.items():
            if key[-1] == "true" and key[:-1] + ("false",) in by and row["n"]:
                awake = by[key[:-1] + ("false",)]
                lines.append([key[1] if key[0] == "slow" else f"fv3, {NAMES.get(key[0], key[0])} to 1e-10", f"{1e3 * number(awake['seconds']):.4g}", f"{1e3 * number(row['seconds']):.4g}", f"{100 * number(awake['cpu']):.3g} %", f"{100 * number(row['cpu']):.3g} %"])
        if lines:
            p.table(f"`-ksp_bai_idle_wait`, {place}: milliseconds of a solve, and processor time over wall time.", ["", "awake, ms", "asleep, ms", "awake, processor", "asleep, processor"], lines)
            some = [(by[key], by[key[:-1] + ("false",)]) for key in by if key[-1] == "true" and key[:-1] + ("false",) in by and by[key]["n"]]
            p.check("asleep, the processor is busy for at most 3 % of the time in async-(5) on fv3", number(by["async-(5)", "true"]["cpu"]) <= 0.03)
            p.check("no solve shown here of more than 1 ms is slower asleep by more than 5 %", all(number(a["seconds"]) <= 1.05 * number(b["seconds"]) for a, b in some if number(b["seconds"]) > 1e-3))
    p.why("The papers measure power of the whole system, and sleep between the launches of iterations. Here a whole solve is one launch, during which the host sleeps.",
          "Waits of less than 8 ms are spent awake, as being woken takes up to 0.3 ms. So are those for PETSc's own operations, as in refinement.")
    place, rows = p.best()
    by = {tuple(parts(row)): row for row in rows}
    names = [name for name in SOLVERS if number(by.get((name, "true"), {}).get("gpu_joules")) > 0 and converged(by[name, "true"])]
    if names:
        def draw(axes):
            values = [number(by[name, "true"]["gpu_joules"]) for name in names]
            bars = axes[0].barh(range(len(names)), values, color="#0072B2")
            axes[0].bar_label(bars, [f"{v:.3g} J" for v in values], padding=3)
            axes[0].set_yticks(range(len(names)), [NAMES.get(name, name) for name in names])
            axes[0].set_xscale("log")
            axes[0].margins(x=0.25)
            axes[0].invert_yaxis()
            axes[0].set_xlabel("joules of the GPU, fv3 to 1e-10")
        p.picture(draw, f"Energy of a solve, {place}", legend=False)
