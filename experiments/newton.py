"""Inside Newton's method"""
from harness import number

TITLE = "Inside Newton's method"
SEEDS = "thesis 4.14, Figures 4.38 to 4.40"
COLUMNS = ["solver", "steps", "iterations", "norm", "ms", "reason"]
NAMES = {"bai-200": "200 iterations of async-(5)", "bai-250": "250", "bai-300": "300", "bai-350": "350", "bai-500": "500", "bai-1000": "1000", "bai": "BAI to 1e-10", "bai-single": "the same, single precision and refinement",
         "bai-ew": "BAI, Eisenstat-Walker", "jacobi-2500": "2500 sweeps of Jacobi", "sor-2500": "2500 sweeps of SOR, host", "cg": "CG + Jacobi to 1e-10", "gmres": "GMRES + Jacobi to 1e-10"}


def run(m):
    solvers = list(NAMES) if m.gpus else ["bai-500", "bai-1000", "bai", "bai-ew", "jacobi-2500", "cg"]
    if m.quick:
        solvers = ["bai-ew"]
    m.say(", ".join(solvers))
    said = m.call("ex4", ["-solvers", ",".join(solvers)] + m.options[2:4], timeout=200)
    rows = [dict(zip(COLUMNS, line.split())) for line in said.splitlines() if len(line.split()) == len(COLUMNS) and line.split()[0] in solvers]
    return rows


def page(p):
    heading, places = ["linear solver"], list(p.each())
    for place, _ in places:
        heading += [f"{place}: Newton steps", "iterations", "ms"]
    lines = []
    for solver, name in NAMES.items():
        line = [name]
        for _, rows in places:
            row = next((row for row in rows if row["solver"] == solver), None)
            line += [row["steps"], row["iterations"], f"{number(row['ms']):.4g}"] if row else ["", "", ""]
        if any(line[1:]):
            lines.append(line)
    p.table("−Δu = −(1 + 2u²) on 100² inner points, until a step is smaller than 1e-8 of u.", heading, lines)
    for place, rows in places:
        steps = {row["solver"]: number(row["steps"]) for row in rows}
        counts = [int(k[4:]) for k in steps if k[4:].isdigit() and k.startswith("bai-")]
        if len(counts) > 1:
            p.check(f"{place}: more linear iterations, fewer Newton steps", all(steps[f"bai-{a}"] >= steps[f"bai-{b}"] for a, b in zip(sorted(counts), sorted(counts)[1:])))
        if "bai" in steps:
            p.check(f"{place}: solved to 1e-10, Newton's method takes 3 to 5 steps, as with Krylov methods", 3 <= steps["bai"] <= 5)
    p.why("The papers give 500 iterations to all relaxations: BAI about 3 times as fast as Jacobi, and 100 times as fast as Gauss-Seidel on a CPU. Here Jacobi and SOR get 2500 sweeps, as many as 500 iterations of async-(5) have.",
          "So ratios are not theirs. More, and the pattern of Figure 4.40, is in [newton.md](newton.md).")
