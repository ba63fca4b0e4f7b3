"""Several GPUs"""
from harness import Skip, async_, converged, number, parts

TITLE = "Several GPUs"
SEEDS = "thesis 4.6 and 4.7, Figures 4.8 to 4.14; journal 3.4, Figure 11"
EXCHANGES = ["scatter", "amc", "dc", "dk"]
MATRICES = {"trefethen20000": "", "laplace3d": "-n 100"}


def run(m):
    most = m.gpus or 2
    if m.gpus == 1:
        raise Skip("there is one GPU only")
    rows = []
    sizes = [k for k in (1, 2, 3, 4, 8) if k <= most]
    for size in sizes:
        cases = []
        for matrix, more in MATRICES.items() if m.gpus and not m.quick else [("trefethen20000", "")]:
            for exchange in EXCHANGES if size > 1 else ["one rank"]:
                options = f"{m.matrix(matrix)} {more} {async_(5)}" + ("" if size == 1 else f" -ksp_bai_exchange {exchange} -ksp_bai_gather none")
                cases.append((f"{matrix}|{exchange}|{size}|iteration", f"{options} -ksp_norm_type none -ksp_max_it {500 if m.gpus else 50} -seconds 0.3"))
                cases.append((f"{matrix}|{exchange}|{size}|solve", f"{options} -ksp_rtol 1e-10 -ksp_max_it 30000 -seconds 0.3"))
        rows += m.solves(cases, ranks=size, timeout=100)
    return rows


def page(p):
    for place, rows in p.each():
        by = {tuple(parts(row)): row for row in rows}
        sizes = sorted({int(key[2]) for key in by})
        for matrix in MATRICES:
            one = by.get((matrix, "one rank", "1", "solve"))
            if not one:
                continue
            lines = []
            for exchange in EXCHANGES:
                line = [exchange]
                for size in sizes[1:]:
                    solve, its = by.get((matrix, exchange, str(size), "solve")), by.get((matrix, exchange, str(size), "iteration"))
                    line.append(f"{number(one['seconds']) / number(solve['seconds']):.2f}" if solve and solve["n"] and converged(solve) else "–")
                    line.append(f"{number(by[matrix, 'one rank', '1', 'iteration']['seconds']) / number(its['seconds']):.2f}" if its and its["n"] else "–")
                    line.append(solve["its"] if solve and solve["n"] and converged(solve) else "–")
                if any(cell != "–" for cell in line[1:]):
                    lines.append(line)
                for key, row in by.items():
                    if key[:2] == (matrix, exchange) and not row["n"]:
                        p.text(f"Exchange `{exchange}`, {key[2]} ranks, {key[3]}, failed: {row['reason']}.")
            ranks = "ranks" if place == "host" else "GPUs"
            p.table(f"{matrix}, {place}: async-(5) with blocks of 448 rows; speed over one of the {ranks} (whole solve to 1e-10, one iteration), and iterations, {one['its']} on one.",
                    ["exchange"] + [f"{size} {ranks}: {what}" for size in sizes[1:] for what in ("solve", "iteration", "its")], lines)
    p.why("The papers, on PCI express: AMC on two GPUs twice as fast as one, three 20 % slower than two, four faster again. DC and DK gain less than 10 %.",
          "On today's GPUs Trefethen_20000 is too small to gain by a second one. An iteration takes a microsecond, and a message as long. By default such systems are gathered on one rank.",
          "What the four exchanges do on two and four GPUs, on a Laplacian of A318's size, is measured by `bench/ranks`: see [several GPUs](performance.md#several-gpus).",
          "Set-up is not counted. Where data are in host memory (Figure 4.11) is not asked: they are on the GPU.")
    place, rows = p.best()
    good = [row for row in rows if row["n"]]
    if not any(parts(row)[2] != "1" for row in good):
        return

    def draw(axes):
        for ax, matrix in zip(axes, MATRICES):
            one = [row for row in good if parts(row)[:1] + parts(row)[2:] == [matrix, "1", "iteration"]]
            for exchange in EXCHANGES:
                some = [row for row in good if parts(row)[:2] == [matrix, exchange] and parts(row)[3] == "iteration"]
                if some and one:
                    p.curve(ax, exchange, [1] + [int(parts(row)[2]) for row in some], [1] + [number(one[0]["seconds"]) / number(row["seconds"]) for row in some])
            ax.set_xlabel("ranks" if place == "host" else "GPUs")
            ax.set_title(matrix)
            ax.set_ylim(bottom=0)
            ax.set_xticks(sorted({int(parts(row)[2]) for row in good}))
        axes[0].set_ylabel("speed of an iteration over one")
    p.picture(draw, f"Iterations per time by exchange, {place}", columns=2 if any(parts(row)[0] == "laplace3d" for row in good) else 1)
