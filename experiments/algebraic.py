"""Weights inside algebraic multigrid"""
from harness import converged, number, parts

TITLE = "Weights inside algebraic multigrid"
SEEDS = "weights paper, conclusions"
MG = (
    "-ksp_type fgmres -ksp_rtol 1e-8 -ksp_max_it 200 -ksp_norm_type unpreconditioned -ksp_pc_side right -pc_type gamg"
    " -mg_levels_ksp_norm_type none"
)
BAI = "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai"
COLOR = BAI + " -mg_levels_pc_bai_mode color"
SMOOTHERS = {
    "PETSc's default, Chebyshev": "",
    "color": COLOR,
    "color, ω = 0.8": COLOR + " -mg_levels_pc_bai_omega 0.8",
    "color, ℓ1": COLOR + " -mg_levels_pc_bai_weight l1",
    "color, τ": COLOR + " -mg_levels_pc_bai_weight tau",
    "sync": BAI + " -mg_levels_pc_bai_mode sync",
    "sync, ℓ1": BAI + " -mg_levels_pc_bai_mode sync -mg_levels_pc_bai_weight l1",
    "sync, τ": BAI + " -mg_levels_pc_bai_mode sync -mg_levels_pc_bai_weight tau",
}
MATRICES = {"laplace3d": (24, 64), "anisotropic": (100, 400), "mesh": (100, 300), "powerlaw": (5000, 0)}
GPU = [
    "PETSc's default, Chebyshev",
    "color",
    "color, ℓ1",
    "sync",
    "sync, ℓ1",
]  # on a GPU GAMG's set-up takes longer than all else, and can hang


def run(m):
    rows = []
    for matrix, sizes in list(MATRICES.items())[:1] if m.quick else MATRICES.items():
        names = GPU if m.gpus else list(SMOOTHERS)
        n = 12 if m.quick else sizes[bool(m.gpus)]
        cases = [
            (f"{matrix}|{name}", f"-matrix {matrix} -n {n} {MG} {SMOOTHERS[name]} -seconds {0.05 if m.gpus else 0.01}")
            for name in names[: 2 if m.quick else None]
            if n
        ]
        rows += m.solves(cases, timeout=20 if m.gpus else 40)
    return rows


def page(p):
    keyed = lambda rows: {tuple(parts(row)): row for row in rows}
    cell = lambda by, *key: (
        f"{by[key]['its']}, {1e3 * number(by[key]['seconds']):.3g}"
        if key in by and converged(by[key])
        else "–"
        if key in by
        else ""
    )
    pair = lambda rows, matrix, mode: [keyed(rows).get((matrix, mode + more), {}) for more in ("", ", ℓ1")]
    both = lambda rows, matrix, mode: all(map(converged, pair(rows, matrix, mode)))
    its = lambda rows, matrix, mode: " and ".join(row["its"] for row in pair(rows, matrix, mode))
    p.compare(
        "weights paper, conclusions: ω, τ and ℓ1 inside algebraic multigrid",
        "left open",
        lambda rows: "iterations without and with ℓ1: "
        + "; ".join(
            f"{matrix} "
            + ", ".join(f"{mode} {its(rows, matrix, mode)}" for mode in ("sync", "color") if both(rows, matrix, mode))
            for matrix in MATRICES
            if any(both(rows, matrix, mode) for mode in ("sync", "color"))
        ),
        "`PCBAI` damps local sweeps in rows that do not dominate by itself, so a weight adds little",
    )
    for place, rows in p.each():
        by = keyed(rows)
        sizes = {key[0]: row["n"] for key, row in by.items() if row["n"]}
        p.table(
            f"GAMG inside FGMRES, {place}: iterations to 1e-8 and milliseconds. A dash: not in 200 iterations, or"
            " stopped.",
            ["smoother"] + [f"{matrix}, n = {sizes[matrix]}" for matrix in MATRICES if matrix in sizes],
            [[name] + [cell(by, matrix, name) for matrix in MATRICES if matrix in sizes] for name in SMOOTHERS],
        )
    left = {}
    for place, rows in p.each():
        for row in rows:
            if not row["n"]:
                left.setdefault((place, row["reason"]), {}).setdefault(parts(row)[0], []).append(parts(row)[1])
    pairs = [
        pair(rows, matrix, mode)
        for _, rows in p.each()
        for matrix in MATRICES
        for mode in ("sync", "color")
        if both(rows, matrix, mode)
    ]
    saved = any(number(weighted["its"]) < number(plain["its"]) for plain, weighted in pairs)
    missing = []
    for (place, why), some in left.items():
        over = "the time for all experiments was over" if why.startswith("no time left") else why
        which = [matrix + (", all" if names == GPU else " with " + " / ".join(names)) for matrix, names in some.items()]
        missing.append(f"{place}, left out, {over}: {'; '.join(which)}.")
    hangs = (
        "GAMG's set-up on a GPU can hang, also without this library: see the [warnings](smoothing.md#warnings-first)."
    )
    p.why("" if saved or not pairs else "ℓ1 saves no iteration where it was measured.", *missing, hangs if left else "")
