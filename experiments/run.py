#!/usr/bin/env python3
"""Reruns the experiments of the papers, and writes a table for each.

  run.py --programs DIR --out DIR [--gpus N] [NAME ...]    all experiments, or those named
  run.py --list                                            which there are

DIR has the programs solves, storage, nondeterminism, bench and ex4, or they are in its folders experiments, bench and
tutorials. --gpus 0 (the default) runs on the host, a smaller set. --matrices DIR: where Chem97ZtZ.mtx and bcsstk16.mtx
are, if you have them. --quick: a few small cases of each, to see that it works. --device, --commit: for the page.
--limit SECONDS: for all experiments together; what is left then is stopped, and the tables say so. No module but those
of Python is needed"""
import argparse
import csv
import importlib
import math
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

NAMES = [
    "nondeterminism",
    "convergence",
    "local_sweeps",
    "over_time",
    "faults",
    "ranks",
    "storage",
    "weights",
    "theta",
    "meshes",
    "multigrid",
    "algebraic",
    "refinement",
    "block_refinement",
    "newton",
    "energy",
]
STATUS = ["experiment", "state", "seconds", "why", "device", "commit", "date", "petsc", "threads", "gpus", "note"]


def experiment(name):
    if name not in NAMES:
        sys.exit(f"experiment {name} is unknown, it must be of {', '.join(NAMES)}")
    return importlib.import_module(name)


def write(filename, rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(filename, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(filename):
    if not os.path.exists(filename):
        return []
    with open(filename, newline="") as file:
        return list(csv.DictReader(file))


def run(machine, name, out, about):
    """One experiment: its table, and a line in status.csv, also if it is skipped"""
    machine.experiment, machine.started, machine.note = name, time.time(), ""
    state, why, rows = "done", "", []
    machine.say("begins")
    try:
        rows = experiment(name).run(machine)
    except harness.Skip as lack:
        state, why = "skipped", str(lack)
    except (RuntimeError, OSError) as error:
        state, why = "failed", str(error)
    if rows:
        write(os.path.join(out, name + ".csv"), rows)
    status = [row for row in read(os.path.join(out, "status.csv")) if row["experiment"] != name]
    status.append(
        {
            "experiment": name,
            "state": state,
            "seconds": f"{time.time() - machine.started:.0f}",
            "why": why,
            "note": machine.note,
            **about,
        }
    )
    write(os.path.join(out, "status.csv"), [{column: row.get(column, "") for column in STATUS} for row in status])
    machine.say(f"{state}{': ' + why if why else ''}{'' if not machine.log.isatty() else chr(10)}")
    return state != "failed"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--list", action="store_true")
    p.add_argument("--programs", default=".")
    p.add_argument("--out", default="experiments-out")
    p.add_argument("--gpus", type=int, default=0)
    p.add_argument("--mpiexec", default="mpiexec")
    p.add_argument("--matrices", default=os.environ.get("BAI_MATRICES", ""))
    p.add_argument("--quick", action="store_true")
    p.add_argument("--limit", type=float, default=math.inf)
    for what in ("device", "commit", "petsc"):
        p.add_argument("--" + what, default="unknown")
    a = p.parse_args()
    if a.list:
        for name in NAMES:
            print(f"{name:15} {experiment(name).TITLE} ({experiment(name).SEEDS})")
        return 0
    os.makedirs(a.out, exist_ok=True)
    machine = harness.Machine(a.programs, a.gpus, a.mpiexec, a.matrices, a.quick, a.limit)
    about = {
        "device": a.device,
        "commit": a.commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "petsc": a.petsc,
        "threads": machine.threads,
        "gpus": a.gpus,
    }
    for name in a.names:
        experiment(name)
    names = a.names or sorted(NAMES, key=lambda name: name == "algebraic")  # last, as PETSc's GAMG can hang on a GPU
    return 0 if all([run(machine, name, a.out, about) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
