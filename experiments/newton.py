"""Inside Newton's method"""
import math
import os
import tempfile

from harness import PLAIN, number

TITLE = "Inside Newton's method"
SEEDS = "thesis 4.14, Figures 4.38 to 4.40"
COLUMNS = ["solver", "steps", "iterations", "norm", "ms", "reason"]
FIXED = {"bai-200": "200", "bai-250": "250", "bai-300": "300", "bai-350": "350", "bai-500": "500", "bai-1000": "1000"}
NAMES = {
    **{name: f"{its} iterations of async-(5)" for name, its in FIXED.items()},
    "bai-single": "async-(5) in single precision with refinement, to 1e-10",
    "jacobi-500": "500 sweeps of Jacobi",
    "sor-500": "500 sweeps of SOR, host",
    "jacobi-2500": "2500 sweeps of Jacobi",
    "sor-2500": "2500 sweeps of SOR, host",
    "bai": "KSPBAI, default, to 1e-10",
    "bai-ew": "the same, Eisenstat-Walker",
    "cg": "CG + Jacobi to 1e-10",
    "gmres": "GMRES + Jacobi to 1e-10",
}
RELAX = PLAIN.replace("-ksp_type bai ", "").split() + ["-ksp_bai_local_iters", "6", "-ksp_bai_block_size", "448"]


def run(m):
    relax = ["bai-500"] if m.quick else list(FIXED) + ["bai-single"]
    others = ["cg"] if m.quick else [name for name in NAMES if name not in relax]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for solvers, options in ((relax, RELAX), (others, [])):
            m.say(", ".join(solvers))
            file = os.path.join(folder, "history")
            said = m.call(
                "ex4", ["-solvers", ",".join(solvers), "-steps", file] + options + m.options[2:4], timeout=150
            )
            rows += [
                dict(zip(COLUMNS, line.split()))
                for line in said.splitlines()
                if len(line.split()) == len(COLUMNS) and line.split()[0] in solvers
            ]
            with open(file) as lines:
                rows += [dict(zip(("solver", "step", "norm", "seconds"), line.strip().split(","))) for line in lines]
    return rows


def results(rows):
    return {row["solver"]: row for row in rows if row["ms"]}


def page(p):
    ms = lambda rows, name: number(results(rows)[name]["ms"])
    p.compare(
        "Figure 4.38a, Newton steps with 200, 250, 300, 350, 500, 1000 iterations of async-(5)",
        "fewer with more",
        lambda rows: ", ".join(results(rows)[name]["steps"] for name in FIXED if name in results(rows)),
        "the papers stop at a given accuracy; here a step below 1e-8 of u ends the iteration",
    )
    p.compare(
        "Figure 4.38b, ms of these",
        "200 to 500 alike, 1000 slower",
        lambda rows: ", ".join(f"{ms(rows, name):.3g}" for name in FIXED if name in results(rows)),
        "on a GPU a Newton step costs as much as hundreds of iterations",
    )
    p.compare(
        "Figure 4.38, refinement to 1e-10: Newton steps, ms",
        "fewest steps, fastest",
        lambda rows: f"{results(rows)['bai-single']['steps']}, {ms(rows, 'bai-single'):.3g}",
        "it iterates until the linear residual is small, which takes thousands of iterations on this problem",
    )
    p.compare(
        "Figure 4.39, Jacobi over async-(5), 500 iterations each",
        "almost 3",
        lambda rows: f"{ms(rows, 'jacobi-500') / ms(rows, 'bai-500'):.2g}",
        (
            "an iteration of async-(5) is six sweeps, and on a GPU 500 of them are one launch; Jacobi is PETSc's,"
            " several kernels an iteration"
        ),
    )
    p.compare(
        "Figure 4.39, Gauss-Seidel over async-(5), 500 iterations each",
        "almost 100",
        lambda rows: f"{ms(rows, 'sor-500') / ms(rows, 'bai-500'):.2g}",
        "SOR is on the host, on one core",
    )
    over = lambda rows, name: f"{ms(rows, name) / ms(rows, 'bai-500'):.2g}"
    more = lambda rows: f"Jacobi {over(rows, 'jacobi-2500')}, Gauss-Seidel {over(rows, 'sor-2500')}"
    p.compare(
        "Figure 4.39 again, 2500 sweeps over 500 iterations of async-(5)",
        "",
        more,
        "about as many sweeps as 500 iterations of async-(5) have",
    )
    p.compare(
        "Section 4.14.2, more linear iterations with each Newton step",
        "named, not done",
        lambda rows: (
            f"by Eisenstat and Walker {results(rows)['bai-ew']['iterations']} iterations, {ms(rows, 'bai-ew'):.3g} ms;"
            f" to 1e-10 in each step {results(rows)['bai']['iterations']}, {ms(rows, 'bai'):.3g} ms"
        ),
        "KSPBAI by default; fewer iterations, but more Newton steps",
    )
    p.compare(
        "Figure 4.39, Krylov methods over async-(5)",
        "well below 1, 3 to 5 Newton steps",
        lambda rows: (
            f"CG {ms(rows, 'cg') / ms(rows, 'bai-500'):.2g}, GMRES {ms(rows, 'gmres') / ms(rows, 'bai-500'):.2g},"
            f" {results(rows)['cg']['steps']} steps"
            if "gmres" in results(rows)
            else ""
        ),
        "on a GPU each step of PETSc's CG is several kernels",
    )
    p.compare(
        "Figure 4.40, patterns of Schnakenberg's equations",
        "spots by t = 0.225, then steady",
        "the same, see [applications.md](applications.md#pattern-formation)",
        "",
    )
    heading, places, lines = ["linear solver"], list(p.each()), []
    for place, _ in places:
        heading += [f"{place}: Newton steps", "iterations", "ms"]
    for solver, name in NAMES.items():
        lines.append([name])
        for _, rows in places:
            row = results(rows).get(solver)
            lines[-1] += [row["steps"], row["iterations"], f"{number(row['ms']):.4g}"] if row else ["", "", ""]
    p.table(
        "−Δu = −(1 + 2u²) on 100² inner points, until a step is smaller than 1e-8 of u.",
        heading,
        lines,
    )
    for place, rows in places:
        steps = [number(results(rows)[name]["steps"]) for name in FIXED if name in results(rows)]
        if len(steps) > 1:
            p.check("more linear iterations lead to fewer Newton steps", steps == sorted(steps, reverse=True), place)
        if "bai" in results(rows):
            p.check(
                "solved to 1e-10, Newton's method takes 3 to 5 steps, as with Krylov methods",
                3 <= number(results(rows)["bai"]["steps"]) <= 5,
                place,
            )
    p.why("500 iterations of async-(5) with five updates are 2500 sweeps.")
    place, rows = p.best(lambda rows: sum(bool(row.get("step")) for row in rows) > 50)
    if sum(bool(row.get("step")) for row in rows) < 50:
        return
    history = lambda solver: [
        (int(row["step"]), number(row["norm"]), 1e3 * number(row["seconds"]))
        for row in rows
        if row.get("step") and row["solver"] == solver
    ]

    def counts(axes):
        for solver in ("bai-200", "bai-350", "bai-500", "bai-1000", "bai-single"):
            for ax, x in zip(axes, (0, 2)):
                p.curve(
                    ax,
                    NAMES[solver]
                    .replace(" iterations of async-(5)", " iterations")
                    .replace("async-(5) in single precision with refinement, to", "refinement to"),
                    [step[x] for step in history(solver)],
                    [step[1] for step in history(solver)],
                )
        axes[0].set_xlabel("Newton steps")
        axes[1].set_xlabel("ms")

    def solvers(axes):
        shown = ("bai-500", "bai-single", "jacobi-500", "sor-500", "cg", "gmres", "bai")
        for solver in shown:
            p.curve(
                axes[0],
                NAMES[solver].replace(" in single precision with", ","),
                [step[2] for step in history(solver)],
                [step[1] for step in history(solver)],
            )
        axes[0].set_xscale("log")
        first = min(step[2] for solver in shown for step in history(solver)[1:])
        axes[0].set_xlim(left=10 ** math.floor(math.log10(first)))
        axes[0].set_xlabel("ms")

    def dress(draw):
        def dressed(axes):
            draw(axes)
            for ax in axes:
                ax.set_yscale("log")
                ax.set_ylim(1e-12, 1e-1)
            axes[0].set_ylabel("norm of the function")

        return dressed

    p.picture(dress(counts), f"Figure 4.38: Newton's method with fixed numbers of iterations, {place}", columns=2)
    p.styles.clear()
    p.picture(dress(solvers), f"Figure 4.39: Newton's method by linear solver, {place}", name="newton_solvers")
