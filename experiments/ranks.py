"""Several GPUs"""
import os

from harness import async_, converged, number, parts
from run import read

TITLE = "Several GPUs"
SEEDS = "thesis 4.6 and 4.7, Figures 4.8 to 4.14; journal 3.4, Figure 11"
EXCHANGES = ["scatter", "amc", "dk"]
MATRICES = {"trefethen20000": "", "laplace3d": "-n 100"}


def run(m):
    most = m.gpus if m.gpus > 1 else 2
    if m.gpus == 1:
        m.note = "two ranks on one GPU"
    rows = []
    sizes = [k for k in (1, 2, 3, 4, 8) if k <= most]
    for size in sizes:
        cases = []
        for matrix, more in MATRICES.items() if m.gpus > 1 and not m.quick else [("trefethen20000", "")]:
            for exchange in EXCHANGES if size > 1 else ["one rank"]:
                options = f"{m.matrix(matrix)} {more} {async_(5)}" + (
                    "" if size == 1 else f" -ksp_bai_exchange {exchange}"
                )
                cases.append(
                    (
                        f"{matrix}|{exchange}|{size}|iteration",
                        f"{options} -ksp_norm_type none -ksp_max_it {500 if m.gpus > 1 else 50} -seconds 0.2",
                    )
                )
                cases.append(
                    (f"{matrix}|{exchange}|{size}|solve", f"{options} -ksp_rtol 1e-10 -ksp_max_it 3000 -seconds 0.2")
                )
        rows += m.solves(cases, ranks=size, timeout=60 if m.gpus != 1 else 30)
    return rows


BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "docs", "data", "ranks.csv")


def speed(rows, matrix, exchange, ranks, what):
    by = {tuple(parts(row)): row for row in rows}
    one, some = by[matrix, "one rank", "1", what], by[matrix, exchange, str(ranks), what]
    if what == "solve" and not (converged(one) and converged(some)):
        raise KeyError
    return number(one["seconds"]) / number(some["seconds"])


def name(matrix):
    return matrix + (", 100³" if matrix == "laplace3d" else "")


def us(rows, matrix, exchange, ranks):
    """Microseconds of an iteration"""
    row = {tuple(parts(row)): row for row in rows}[matrix, exchange, str(ranks), "iteration"]
    return f"{1e6 * number(row['seconds']) / number(row['its']):.1f}"


def own(p, what):
    """say() without machines whose ranks share a GPU: they take turns"""
    return p.say(lambda rows: "" if shared(rows) else what(rows))


def shared(rows):
    """Whether the ranks shared a GPU, of which the single rank had one"""
    return any("ranks share a device" in row["reason"] for row in rows)


def page(p):
    bench = {(row["system"], row["n"], row["ranks"], row["what"]): number(row["ratio"]) for row in read(BENCH)}
    device = next(iter(read(BENCH)), {}).get("device", "")
    theirs = {
        "amc": ("4.10", "2 on two GPUs, less on three, more again on four"),
        "dk": ("4.13", "below 1.1 on two GPUs"),
    }
    for exchange, (figure, said) in theirs.items():
        large = ", ".join(
            f"{1 / bench['laplace3d', '318', ranks, exchange]:.2f} on {ranks}"
            for ranks in "24"
            if ("laplace3d", "318", ranks, exchange) in bench
        )
        p.compare(
            f"Figure {figure}, {exchange.upper()}, iterations per time over one GPU",
            said,
            "; ".join(
                filter(
                    None,
                    [
                        f"318³, {device}: {large}" if large else "",
                        "Trefethen_20000, "
                        + own(p, lambda rows: f"{speed(rows, 'trefethen20000', exchange, 2, 'iteration'):.2f} on two"),
                        "100³, "
                        + own(p, lambda rows: f"{speed(rows, 'laplace3d', exchange, 2, 'iteration'):.2f} on two"),
                    ],
                )
            ),
            {
                "amc": (
                    "the papers used PCI Express, where an iteration took longer than its copies through the host; here"
                    " the copies take longer than an iteration. Three GPUs were not measured"
                ),
                "dk": (
                    "today's GPUs are linked directly, and a kernel's stores into the other GPU's memory need no copy"
                ),
            }[exchange],
        )
    p.compare(
        "Figure 4.12, DC, iterations per time over one GPU",
        "below 1.1 on two GPUs",
        "not repeated",
        "[DK was faster](notebook/ranks.md#the-exchange-of-a-relaxation) in each measurement, so DC was removed",
    )
    p.compare(
        "Figure 4.14, Trefethen_20000, whole solves on two GPUs over one",
        "2 by AMC",
        own(
            p,
            lambda rows: ", ".join(
                f"{exchange} {speed(rows, 'trefethen20000', exchange, 2, 'solve'):.2f}" for exchange in EXCHANGES
            ),
        ),
        "a solve takes less time than a few messages",
    )
    p.compare(
        "Figure 4.11, data in the host's memory of either processor",
        "two levels of time",
        "not measured",
        "data stay on the GPU",
    )
    lines, left = [], {}
    for place, rows in p.each():
        place += ", shared by the ranks" if shared(rows) else ""
        by = {tuple(parts(row)): row for row in rows}
        for matrix, exchange, size in dict.fromkeys(key[:3] for key in by if key[2] != "1"):
            line = [name(matrix), place, exchange, size]
            for what in ("solve", "iteration"):
                try:
                    line.append(f"{speed(rows, matrix, exchange, size, what):.2f}".replace("nan", "–"))
                except KeyError:
                    line.append("–")
            solve = by.get((matrix, exchange, size, "solve"), {})
            one = by[matrix, "one rank", "1", "solve"]
            lines.append(line + [row["its"] if converged(row) else "–" for row in (solve, one)])
            for what in ("solve", "iteration"):
                row = by.get((matrix, exchange, size, what), {})
                if not row.get("n"):
                    left.setdefault((size, place, row.get("reason", "").split("): ")[-1].replace(";", ",")), {})[
                        f"`{exchange}`"
                    ] = None
    p.table(
        (
            "async-(5) with blocks of 448 rows: speed over one rank (whole solve to 1e-10; one iteration), and"
            " iterations of a solve. A dash: it failed, or did not converge in 3000 iterations."
        ),
        ["matrix", "machine", "exchange", "ranks", "solve", "iteration", "iterations", "on one rank"],
        lines,
    )
    said = [
        f"Exchange {' and '.join(exchanges)}, {size} ranks, {place}: {reason}."
        for (size, place, reason), exchanges in left.items()
    ]
    for place, rows in p.each():
        for matrix in MATRICES if place == "several GPUs" else ():
            two = ", ".join(f"{us(rows, matrix, exchange, 2)} with {exchange}" for exchange in EXCHANGES)
            said.append(
                f"{name(matrix)}, {place}: an iteration takes {us(rows, matrix, 'one rank', 1)} µs on one, and on two"
                f" {two}."
            )
    p.why(
        *said,
        (
            "Set-up is not counted. Larger systems on several GPUs are measured by `bench/ranks`: see [several"
            " GPUs](performance.md#several-gpus)."
        ),
    )
    rows = [row for row in p.best()[1] if row["n"]]
    place, matrices = p.best()[0], list(dict.fromkeys(parts(row)[0] for row in p.best()[1] if row["n"]))
    if len({parts(row)[2] for row in rows}) < 3:
        return

    def draw(axes):
        for ax, matrix in zip(axes, matrices):
            for exchange in EXCHANGES:
                some = [
                    int(parts(row)[2])
                    for row in rows
                    if parts(row)[:2] == [matrix, exchange] and parts(row)[3] == "iteration"
                ]
                p.curve(
                    ax, exchange, [1] + some, [1] + [speed(rows, matrix, exchange, size, "iteration") for size in some]
                )
            ax.set_xlabel("ranks" if place == "host" else "GPUs")
            ax.set_title(matrix)
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("speed of an iteration over one")

    p.picture(draw, f"Figures 4.10 and 4.13: iterations per time by exchange, {place}", columns=len(matrices))
