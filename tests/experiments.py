#!/usr/bin/env python3
"""The experiments of the papers run, obey what mathematics says, and become a page:
experiments.py PROGRAMS DIR [MPIEXEC ...]

Prints TAP. In DIR are the tables and the page that it makes; exit status 1 if a test fails."""
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "experiments"))
import harness  # noqa: E402
import page  # noqa: E402
import run  # noqa: E402

failed = 0


def expect(name, holds, why):
    global failed
    failed += not holds
    print(f"{'ok' if holds else 'not ok'} experiments-{name}" + ("" if holds else f" # {why}"))


def cases(out, name):
    return {row["case"]: row for row in run.read(os.path.join(out, name + ".csv"))}


def main():
    if "plain" not in os.environ.get("HAVE", "plain").split():
        print("ok experiments # SKIP real scalars in double precision and 32-bit indices required")
        return 0
    programs, folder, mpiexec = sys.argv[1], sys.argv[2], " ".join(sys.argv[3:]) or "mpiexec"
    os.environ["OMP_NUM_THREADS"] = "1"  # the same in every run
    out = os.path.join(folder, "tables")
    os.makedirs(out, exist_ok=True)
    for file in os.listdir(out):
        os.remove(os.path.join(out, file))
    machine = harness.Machine(programs, 0, mpiexec, quick=True, log=io.StringIO())
    about = {
        "device": "a test",
        "commit": "none",
        "date": "2000-01-01",
        "petsc": "any",
        "threads": machine.threads,
        "gpus": 0,
    }
    names = run.NAMES
    for name in names:
        run.run(machine, name, out, about)
    states = {row["experiment"]: row for row in run.read(os.path.join(out, "status.csv"))}
    for name in names:
        expect(f"run_{name}", states[name]["state"] == "done", states[name]["state"] + ": " + states[name]["why"])

    curves = harness.group(run.read(os.path.join(out, "convergence.csv")))
    its = {name.split("|")[1]: harness.reached(rows, 1e-10) for name, rows in curves.items()}
    expect(
        "gauss_seidel",
        13 < its["Gauss-Seidel"] <= 14,
        f"{its['Gauss-Seidel']} iterations of Gauss-Seidel on Trefethen_2000, not 14",
    )
    expect("local_sweeps", its["sync-(5)"] < its["Jacobi"] and its["async-(5)"] < its["Jacobi"], f"{its}")
    for name, rows in curves.items():
        count = [int(row["its"]) for row in rows]
        expect("curve_" + name.split("|")[1], count == sorted(set(count)) and len(count) > 10, f"iterations {count}")
    faults = [int(cases(out, "faults")[f"trefethen|{after}|0"]["its"]) for after in (10, 20, 30)]
    expect(
        "faults",
        int(cases(out, "faults")["trefethen|none|0"]["its"]) < faults[0] < faults[1] < faults[2],
        f"iterations {faults} with recovery after 10, 20, 30",
    )
    theta = cases(out, "theta")
    expect(
        "theta",
        harness.number(theta["448|theta"]["found"]) <= 5 * 5,
        f"{theta['448|theta']['found']} local sweeps with theta, 25 without",
    )
    storage = cases(out, "storage")
    # One thread takes a block after the other, so that values outside a block do not change meanwhile, and the two
    # storages are one method
    for k in "16":
        crs, split = (harness.number(storage[f"papers|{name}|{k}|20"]["residual"]) for name in ("crs", "block-crs"))
        expect(
            f"storage_{k}",
            crs < 1 and abs(crs / split - 1) < 1e-4,
            f"residuals {crs} and {split} of one method in two storages",
        )
    refined = cases(out, "refinement")
    expect(
        "refinement",
        all(harness.number(row["residual"]) <= 1.01 * float(name.split("|")[2]) for name, row in refined.items()),
        "a tolerance is not met",
    )
    blocks = harness.group(run.read(os.path.join(out, "block_refinement.csv")))
    its = {name: harness.reached(rows, 1e-14) for name, rows in blocks.items() if "1e-4" not in name}
    expect(
        "block_refinement",
        len(its) == 6 and all(13 < its[f"trefethen|sync|{name}"] < 14 for name in ("without", "double", "single")),
        f"iterations {its}, not between 13 and 14",
    )
    broken = machine.solves(
        [
            ("good", "-matrix fv1 -n 20 -ksp_type bai"),
            ("bad", "-matrix nonesuch"),
            ("good after bad", "-matrix fv1 -n 20 -ksp_type bai"),
        ]
    )
    expect(
        "failure",
        [harness.converged(row) for row in broken] == [True, False, True],
        f"{[row['reason'] for row in broken]}: the second case alone is to fail",
    )

    # a page from these tables; a second time from its own copies of them, to the same text
    data, text = os.path.join(folder, "data"), os.path.join(folder, "page.md")
    sys.argv = ["page.py", "--csv", out, "--data", data, "--page", text, "--pictures", os.path.join(folder, "pictures")]
    expect(
        "page",
        page.main() == 0 and all(f"`{name}`:" in open(text, encoding="utf-8").read() for name in names),
        "the page lacks an experiment",
    )
    compared = [
        line
        for line in open(text, encoding="utf-8").read().splitlines()
        if line.startswith(("| Figure ", "| Table ", "| Section "))
    ]
    expect(
        "page_compares",
        len(compared) >= 40 and all(line.split(" | ")[2].strip() for line in compared),
        f"{len(compared)} figures and tables of the papers, or one without a result",
    )
    sys.argv = ["page.py", "--data", data, "--page", text, "--pictures", os.path.join(folder, "pictures"), "--check"]
    kept = sys.modules.get("matplotlib")
    expect("page_again", page.main() == 0, "the page differs when it is made again")
    if kept:
        pictures = os.listdir(os.path.join(folder, "pictures"))
        expect(
            "pictures",
            {"convergence.png", "faults.png", "refinement.png", "storage.png"} <= set(pictures),
            f"{pictures}",
        )
    else:
        print("ok experiments-pictures # SKIP matplotlib required")
    # and what is in the project is what its tables make of it
    sys.argv = ["page.py", "--check"]
    committed = os.path.exists(os.path.join(page.ROOT, "docs/experiments.md"))
    expect(
        "page_committed",
        committed and page.main() == 0,
        "docs/experiments.md is not what its tables make of it: make experiments-page",
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
