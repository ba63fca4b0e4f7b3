"""Weights inside algebraic multigrid"""
from harness import converged, number, parts

TITLE = "Weights inside algebraic multigrid: an open question"
SEEDS = "weights paper, conclusions"
MG = "-ksp_type fgmres -ksp_rtol 1e-8 -ksp_max_it 200 -ksp_norm_type unpreconditioned -ksp_pc_side right -pc_type gamg -mg_levels_ksp_norm_type none"
BAI = "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai"
COLOR = BAI + " -mg_levels_pc_bai_mode color"
SMOOTHERS = {
    "PETSc's default, Chebyshev": "",
    "color": COLOR, "color, ω = 0.8": COLOR + " -mg_levels_pc_bai_omega 0.8", "color, ω auto": COLOR + " -mg_levels_pc_bai_omega auto",
    "color, ℓ1": COLOR + " -mg_levels_pc_bai_weight l1", "color, τ": COLOR + " -mg_levels_pc_bai_weight tau",
    "sync": BAI + " -mg_levels_pc_bai_mode sync", "sync, ℓ1": BAI + " -mg_levels_pc_bai_mode sync -mg_levels_pc_bai_weight l1", "sync, τ": BAI + " -mg_levels_pc_bai_mode sync -mg_levels_pc_bai_weight tau",
}
MATRICES = {"laplace3d": (24, 40), "anisotropic": (100, 150), "mesh": (100, 150), "powerlaw": (5000, 5000)}


def run(m):
    cases = []
    for matrix, sizes in list(MATRICES.items())[:1] if m.quick else MATRICES.items():
        for name, options in list(SMOOTHERS.items())[:2] if m.quick else SMOOTHERS.items():
            cases.append((f"{matrix}|{name}", f"-matrix {matrix} -n {12 if m.quick else sizes[bool(m.gpus)]} {MG} {options} -seconds {0.05 if m.gpus else 0.01}"))
    return m.solves(cases, timeout=40)


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        matrices = [matrix for matrix in MATRICES if any(key[0] == matrix for key in by)]
        cell = lambda key: f"{by[key]['its']}, {1e3 * number(by[key]['seconds']):.3g}" if key in by and converged(by[key]) else "–" if key in by else ""
        size = lambda matrix: next((row["n"] for key, row in by.items() if key[0] == matrix and row["n"]), "")
        p.table(f"GAMG inside FGMRES: iterations to 1e-8 and milliseconds, {place}. A dash: not in 200 iterations.", ["smoother"] + [f"{matrix}, n = {size(matrix)}" for matrix in matrices], [[name] + [cell((matrix, name)) for matrix in matrices] for name in SMOOTHERS])
    p.why("The papers leave open what weights do inside multigrid, above all algebraic multigrid. So there is nothing to compare with.",
          "The coarse matrices of GAMG have long rows, and blocks that do not dominate. `PCBAI` damps local sweeps in such rows by itself, which is why it needs no weight in mode color.")
