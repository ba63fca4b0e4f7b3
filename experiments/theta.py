"""Local sweeps that depend on the block"""
from harness import async_, at, converged, number, parts

TITLE = "θ: local sweeps that depend on the block"
SEEDS = "thesis 4.10.4 and 4.10.5, Figures 4.21 and 4.22, Table 4.9"
# local sweeps of all blocks in a global iteration: with theta, without
PUBLISHED = {28: (318, 355), 56: (157, 175), 112: (76, 85), 224: (37, 40), 448: (16, 20)}


WAYS = {"none": "", "theta": "-ksp_bai_theta", "l1": "-ksp_bai_weight l1"}
NAMES = {"none": "async-(5)", "theta": "async-(θ)", "l1": "ℓ1"}


def run(m):
    cases, every = [], "-ksp_bai_check_interval 1"
    for size in [448] if m.quick else PUBLISHED:
        for name, more in WAYS.items():
            options = f"-matrix trefethen {async_(5, size, 'sync').replace('local_iters 6', 'local_iters 5')} {more}"
            cases.append(
                (
                    f"{size}|{name}",
                    f"{options} -ksp_rtol 1e-10 -ksp_max_it 1000 {every}"
                    + (" -find local_sweeps_in_a_global_iteration" if name == "theta" else ""),
                )
            )
            cases.append((f"{size}|{name}|curve", f"{options} {at(range(1, 31))}"))
    return m.solves(cases)


def page(p):
    row = lambda rows, *key: [row for row in rows if parts(row) == list(map(str, key))][0]
    some = lambda rows, key: ", ".join(key(size) for size in PUBLISHED)
    p.compare(
        "Table 4.9, Trefethen_2000, local sweeps of an iteration with θ / without, blocks of 28, 56, 112, 224, 448",
        ", ".join(f"{theta} / {without}" for theta, without in PUBLISHED.values()),
        lambda rows: some(
            rows, lambda size: f"{number(row(rows, size, 'theta')['found']):.0f} / {-(-2000 // size) * 5}"
        ),
        (
            "the papers average the quotients of rows, here sums of rows are divided; the table is said to be of"
            " Trefethen_20000, but its numbers of blocks fit 2000 rows"
        ),
    )
    p.compare(
        "Figure 4.21, iterations with θ, blocks of 28, 56, 112, 224, 448",
        "fewer with smaller blocks",
        lambda rows: some(rows, lambda size: row(rows, size, "theta")["its"]),
    )
    p.compare(
        "Figure 4.22, the same without θ, and with ℓ1",
        "30 % more; ℓ1 wins with large blocks, θ with small ones",
        lambda rows: some(rows, lambda size: row(rows, size, "none")["its"])
        + "; ℓ1 "
        + some(rows, lambda size: row(rows, size, "l1")["its"]),
    )
    for place, rows in p.each():
        p.check(
            "with θ there are no more local sweeps than without",
            all(number(r["found"]) <= 5 * -(-2000 // int(parts(r)[0])) for r in rows if parts(r)[1:] == ["theta"]),
            place,
        )
    place, rows = p.best(lambda rows: sum(len(parts(r)) == 3 for r in rows) > 100)
    if sum(len(parts(r)) == 3 for r in rows) < 100:
        return

    def curve(ax, size, name, label):
        some = [r for r in rows if parts(r) == [str(size), name, "curve"] and number(r["residual"]) > 1e-14]
        p.curve(ax, label, [number(r["its"]) for r in some], [number(r["residual"]) for r in some])

    def blocks(axes):
        for size in PUBLISHED:
            curve(axes[0], size, "theta", f"blocks of {size}")
        curve(axes[0], 448, "none", "async-(5), blocks of 448")

    def ways(axes):
        for ax, size in zip(axes, (28, 112, 448)):
            for name in WAYS:
                curve(ax, size, name, NAMES[name])
            ax.set_title(f"blocks of {size} rows")

    def dress(draw):
        def dressed(axes):
            draw(axes)
            for ax in axes:
                ax.set_yscale("log")
                ax.set_xlabel("iterations")
            axes[0].set_ylabel("‖b − Ax‖ / ‖b‖")

        return dressed

    p.picture(dress(blocks), f"Figure 4.21: async-(θ) on Trefethen_2000 by rows of a block, {place}")
    p.styles.clear()
    p.picture(dress(ways), f"Figure 4.22: θ, ℓ1 and neither, Trefethen_2000, {place}", columns=3, name="theta_l1")
