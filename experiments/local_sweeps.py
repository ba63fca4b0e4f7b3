"""What local sweeps cost, and a global iteration"""
from harness import GAUSS_SEIDEL, JACOBI, PLAIN, async_, number, parts

TITLE = "What local sweeps and global iterations cost"
SEEDS = "thesis 4.4.2, Tables 4.5 and 4.6, Figure 4.5"
# seconds of 500 global iterations on fv3
PUBLISHED = {
    1: 5.624792,
    2: 5.891870,
    3: 6.156434,
    4: 6.410378,
    5: 6.655686,
    6: 6.879329,
    7: 7.144304,
    8: 7.409536,
    9: 7.676786,
}
# seconds of an iteration: Gauss-Seidel (CPU), Jacobi (GPU), async-(5) (GPU)
ITERATION = {
    "chem97": (0.008448, 0.002051, 0.001742),
    "fv1": (0.120191, 0.019449, 0.012964),
    "fv3": (0.125577, 0.021009, 0.014737),
    "trefethen": (0.007603, 0.001494, 0.001305),
}
METHODS = {"Gauss-Seidel": GAUSS_SEIDEL, "Jacobi": JACOBI, "async-(5)": async_(5)}


def fixed(its, seconds):
    return f"-ksp_norm_type none -ksp_max_it {its} -seconds {seconds}"


def run(m):
    seconds, its = (0.05, 20) if m.quick else (0.3, 500)
    cases = [
        (f"sweeps|{k}", f"-matrix fv3 {PLAIN} -ksp_bai_block_size 448 -ksp_bai_local_iters {k} {fixed(its, seconds)}")
        for k in (range(1, 3) if m.quick else range(1, 10))
    ]
    for matrix in ["fv1"] if m.quick else ITERATION:
        cases += [
            (
                f"iteration|{matrix}|{method}",
                f"{m.matrix(matrix)} {options} {fixed(200 if not m.quick else 20, seconds)}",
            )
            for method, options in METHODS.items()
        ]
    for its in () if m.quick else (10, 20, 50, 100, 200):
        cases += [
            (f"count|{method}|{its}", f"-matrix fv3 {options} {fixed(its, seconds)}")
            for method, options in METHODS.items()
        ]
    return m.solves(cases)


def sweeps(rows):
    return {int(parts(row)[1]): number(row["seconds"]) for row in rows if parts(row)[0] == "sweeps" and row.get("n")}


def times(rows, matrix):
    return {parts(row)[2]: number(row["seconds"]) / 200 for row in rows if parts(row)[:2] == ["iteration", matrix]}


def page(p):
    why = "the rest of an iteration is cheap here: on a GPU the matrix stays on the chip"
    for k in (5,):
        p.compare(
            f"Table 4.5, fv3, async-({k}) over async-(1)",
            f"{PUBLISHED[k] / PUBLISHED[1] - 1:+.0%}",
            lambda rows: f"{sweeps(rows)[k] / sweeps(rows)[1] - 1:+.0%}",
            why if k == 5 else "",
        )
    for matrix, (gs, jacobi, ours) in ITERATION.items():
        p.compare(
            f"Table 4.6, {matrix}, an iteration over one of async-(5)",
            f"Gauss-Seidel {gs / ours:.2g}, Jacobi {jacobi / ours:.2g}",
            lambda rows: (lambda t: f"{t['Gauss-Seidel'] / t['async-(5)']:.2g}, {t['Jacobi'] / t['async-(5)']:.2g}")(
                times(rows, matrix)
            ),
            {
                "fv1": "Jacobi here is PETSc's, three kernels an iteration; on the host nothing is parallel",
                "chem97": "a few rows have up to a hundred entries, and their blocks take longest",
            }.get(matrix, ""),
        )
    first = lambda rows, method: (lambda t: t[10] / 10 / (t[200] / 200))(
        {int(parts(row)[2]): number(row["seconds"]) for row in rows if parts(row)[:2] == ["count", method]}
    )
    p.compare(
        "Figure 4.5, fv3, time of an iteration: 10 iterations over 200",
        "falls, as copies to the GPU count",
        lambda rows: f"Jacobi {first(rows, 'Jacobi'):.2g}, async-(5) {first(rows, 'async-(5)'):.2g}",
        "copies are not counted here; the launch of a kernel remains",
    )
    odd = [k for k in PUBLISHED if k % 2]
    lines = [[f"async-({k})", f"{PUBLISHED[k] / PUBLISHED[1] - 1:+.1%}"] for k in odd]
    heading = ["", "papers"]
    for place, rows in p.each():
        time = sweeps(rows)
        heading += [f"{place}, µs an iteration", "over async-(1)"]
        for line, k in zip(lines, odd):
            line += (
                [f"{1e6 * time[k] / 500:.3g}", f"{time[k] / time[1] - 1:+.1%}"] if k in time and 1 in time else ["", ""]
            )
    p.table(
        "500 global iterations on fv3, blocks of 448 rows: what more local sweeps add to async-(1).", heading, lines
    )
    p.why(
        "The papers' times grow with n, not with the number of nonzeros, so their matrices were probably stored"
        " densely. Only ratios are compared. Gauss-Seidel is PETSc's `MatSOR()` on one core."
    )
    place, rows = p.best()

    def draw(axes):
        for method in METHODS:
            some = [row for row in rows if parts(row)[:2] == ["count", method]]
            if some:
                p.curve(
                    axes[0],
                    method,
                    [int(parts(row)[2]) for row in some],
                    [1e6 * number(row["seconds"]) / int(parts(row)[2]) for row in some],
                )
        axes[0].set_yscale("log")
        axes[0].set_xlabel("iterations in all")
        axes[0].set_ylabel("time of an iteration, µs")
        axes[0].set_title("fv3")
        time = [(int(parts(row)[1]), number(row["seconds"])) for row in rows if parts(row)[0] == "sweeps"]
        if time:
            p.curve(axes[1], "async-(k)", [k for k, _ in time], [t / time[0][1] for _, t in time])
        p.curve(axes[1], "papers", list(PUBLISHED), [t / PUBLISHED[1] for t in PUBLISHED.values()], published=True)
        axes[1].set_ylim(bottom=0)
        axes[1].set_xlabel("updates k in a global iteration")
        axes[1].set_ylabel("time over that of async-(1)")

    p.picture(draw, f"Figure 4.5 and Table 4.5: time of an iteration, {place}", columns=2)
