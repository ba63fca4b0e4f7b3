"""Residual over time, beside CG"""
import os
import tempfile

from harness import number
from run import read

TITLE = "Residual over time, beside CG"
SEEDS = "thesis 4.4.3, Figure 4.6"
# Which solvers of bench are left out
WITHOUT = "pipecg,chebyshev,chebyshev4,bai-async-2,bai-launch-5,bai-color-5,bai-sync-5"
NAMES = {"cg": "CG", "resident-cg": "resident CG", "richardson-jacobi": "Jacobi", "richardson-sor": "SSOR", "bai-async-5": "async-(5) plain", "bai-sync-1": "fused Jacobi", "bai": "KSPBAI, default"}
OLD = {"bai-async-5-auto": "bai"}  # names in older tables: the default of their time
MATRICES = {"fv1": 0, "fv3": 0, "trefethen": 2000, "chem97ztz-like": 0}


def run(m):
    names = ["fv1"] if m.quick else list(MATRICES)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            m.say(name)
            history = os.path.join(folder, "history")
            m.call("bench", m.options[:2] + ["-matrix", name, "-n", str(MATRICES[name]), "-over_time", history, "-without", WITHOUT, "-copy_mb", "64", "-rtol", "1e-2,1e-6,1e-10" if not m.quick else "1e-2",
                                             "-samples", "3" if m.gpus else "1", "-seconds", "0.15" if m.gpus else "0.3", "-max_it", "60000" if m.gpus else "20000"], timeout=300)
            rows += read(history)
    return rows


def page(p):
    for place, rows in p.each():
        by = {}
        for row in rows:
            row["solver"] = OLD.get(row["solver"], row["solver"])
            by.setdefault((row["matrix"], row["solver"]), []).append(row)
        solvers = [solver for solver in NAMES if any((matrix, solver) in by for matrix in MATRICES)]
        lines, quicker = [], []
        for matrix in MATRICES:
            least = {}
            for solver in solvers:
                good = [number(row["seconds"]) for row in by.get((matrix, solver), []) if number(row["residual"]) <= 2e-10]
                least[solver] = min(good) if good else float("nan")
            if any(t == t for t in least.values()):
                lines.append([matrix] + [f"{1e3 * least[solver]:.3g}" if least[solver] == least[solver] else "–" for solver in solvers])
                if place != "host" and least.get("cg") == least.get("cg"):
                    p.check(f"{matrix}, {place}: KSPBAI as it is by default is faster than PETSc's CG", least["bai"] < least["cg"])
                if matrix == "fv3" and least.get("resident-cg"):
                    p.check(f"{matrix}, {place}: and faster than a resident CG", least["bai"] < least["resident-cg"])
                elif least.get("resident-cg", float("nan")) < least["bai"]:
                    quicker.append(matrix)
        p.text(f"A resident CG is faster than `KSPBAI` on {', '.join(quicker)}, {place}." if quicker else "")
        p.table(f"Milliseconds to ‖b − Ax‖ ≤ 1e-10 ‖b‖, {place}. A dash: not reached in the time or iterations given.", ["matrix"] + [NAMES[solver] for solver in solvers], lines)
    p.why("In the papers CG wins on fv3, and async-(5) on fv1, Trefethen_2000 and Chem97ZtZ.",
          "The resident CG is the benchmark's own: a whole solve of pipelined CG with Jacobi in one launch.",
          "SSOR is PETSc's default of `PCSOR`, on the host. `KSPBAI` has blocks of its default, 128 rows.")
    place, rows = p.best()

    def draw(axes):
        for ax, matrix in zip(axes, ("fv1", "fv3", "trefethen")):
            for solver, name in NAMES.items():
                some = [row for row in rows if row["matrix"] == matrix and row["solver"] == solver]
                if some:
                    p.curve(ax, name, [1e3 * number(row["seconds"]) for row in some], [number(row["residual"]) for row in some])
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlabel("time of a solve, ms")
            ax.set_title(matrix)
        axes[0].set_ylabel("‖b − Ax‖ / ‖b‖")
    p.picture(draw, f"Residual over time, {place}; each point is a solve of its own", columns=3)
