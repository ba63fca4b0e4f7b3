"""Shared by the experiments: a machine that runs programs, and rows of numbers"""
import csv
import math
import os
import re
import subprocess
import sys
import tempfile
import time

SOLVES = [
    "case",
    "n",
    "nnz",
    "its",
    "residual",
    "reason",
    "solves",
    "setup",
    "seconds",
    "cpu",
    "gpu_joules",
    "cpu_joules",
    "found",
]
STORAGE = ["storage", "n", "nnz", "local_iters", "its", "seconds", "conversion", "residual"]

# Options of async-(k) as the papers have it: relaxation, no Krylov method round it
PLAIN = "-ksp_type bai -ksp_bai_method relaxation"
GAUSS_SEIDEL = "-mat_type aij -ksp_type richardson -pc_type sor -pc_sor_forward -ksp_norm_type unpreconditioned"
JACOBI = "-ksp_type richardson -pc_type jacobi -ksp_norm_type unpreconditioned"


class Skip(Exception):
    """This machine lacks something"""


def async_(k, block_size=448, mode="async"):
    """Options of async-(k); the papers' async-(5) has six updates in a global iteration"""
    return f"{PLAIN} -ksp_bai_mode {mode} -ksp_bai_local_iters {6 if k == 5 else k} -ksp_bai_block_size {block_size}"


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def points(most, count=40):
    """Numbers of iterations from 1 to most, closer at the beginning"""
    return sorted({max(1, round(most * (k / count) ** 1.5)) for k in range(1, count + 1)})


def at(numbers):
    return "-at " + ",".join(map(str, numbers))


def complaint(text):
    """The words of PETSc's first error message"""
    found = re.search(
        r"PETSC ERROR: -+ *Error Message -+\n.*PETSC ERROR: (.*)\n(?:.*PETSC ERROR: (?!WARNING|Option|See )(.*))?", text
    )
    return (found.group(2) or found.group(1)) if found else ""


class Machine:
    """programs: a folder with solves, storage, nondeterminism, bench and ex4. gpus: how many to use, 0: the host"""

    def __init__(self, programs, gpus=0, mpiexec="mpiexec", matrices="", quick=False, limit=math.inf, log=sys.stderr):
        self.programs, self.gpus, self.mpiexec, self.quick, self.log = programs, gpus, mpiexec.split(), quick, log
        self.end = time.time() + limit
        self.matrices = matrices
        self.threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
        self.options = (
            ["-mat_type", "aijcusparse", "-dm_mat_type", "aijcusparse", "-dm_vec_type", "cuda"] if gpus else []
        )
        self.experiment, self.started, self.note = "", time.time(), ""

    def say(self, text):
        self.log.write(
            f"\r\033[K{self.experiment}: {text}, {time.time() - self.started:.0f} s"
            if self.log.isatty()
            else f"{self.experiment}: {text}, {time.time() - self.started:.0f} s\n"
        )
        self.log.flush()

    def within(self, timeout):
        """So many seconds, or as many as are left of all"""
        left = self.end - time.time()
        if left < 1:
            raise RuntimeError("no time left of that for all experiments")
        return min(timeout, left)

    def file(self, name):
        """A Matrix Market file in the folder of matrices, or nothing"""
        path = os.path.join(self.matrices, name + ".mtx")
        return path if self.matrices and os.path.exists(path) else ""

    def matrix(self, name):
        """Options of a matrix: of a file in the folder of matrices, or one of the gallery"""
        if name == "chem97":
            file = given = self.file("Chem97ZtZ")
            self.note = (
                "chem97 is a reconstruction of Chem97ZtZ, from a file"
                if given
                else "chem97 is chem97ztz-like of the gallery, with the pattern of Chem97ZtZ and other values"
            )
            return f"-f {file}" if given else "-matrix chem97ztz-like"
        return "-matrix trefethen -n 20000" if name == "trefethen20000" else f"-matrix {name}"

    def program(self, name):
        for folder in ("", "experiments", "bench", "tutorials", "tests/tutorials"):
            path = os.path.join(self.programs, folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise Skip(f"there is no program {name} in {self.programs}")

    def call(self, name, arguments, ranks=1, timeout=300):
        """Output of a program. One that fails raises RuntimeError with what it said"""
        start, timeout = self.mpiexec + ["-n", str(ranks)] if ranks > 1 else [], self.within(timeout)
        try:
            done = subprocess.run(
                start + [self.program(name)] + arguments,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                timeout=timeout,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"more than {timeout:.0f} s") from late
        if done.returncode:
            raise RuntimeError(complaint(done.stderr + done.stdout) or f"exit status {done.returncode}")
        return done.stdout

    def solves(self, cases, ranks=1, timeout=300, threads=None):
        """Rows of a list of (name, options). A case that fails has one row with its reason, and the others go on"""
        rows, left = [], list(cases)
        with tempfile.TemporaryDirectory() as folder:
            while left:
                lines, table = os.path.join(folder, "cases"), os.path.join(folder, "csv")
                open(table, "w").close()
                with open(lines, "w") as file:
                    file.writelines(f"{name}\t{options}\n" for name, options in left)
                failed = self.watch(
                    ["-cases", lines, "-csv", table], table, len(cases) - len(left), len(cases), ranks, timeout, threads
                )
                with open(table, newline="") as file:
                    got = [dict(zip(SOLVES, row)) for row in csv.reader(file) if len(row) == len(SOLVES)]
                if not failed:
                    return rows + got
                # it failed at the case after the last that has a row, or at that one if it was to have more
                names = [name for name, _ in left]
                done = 0
                if got:
                    done = names.index(got[-1]["case"])
                    more = re.search(r"-at (\S+)", left[done][1])
                    last = int(more.group(1).split(",")[-1]) if more else None
                    done += more is None or number(got[-1]["its"]) == last
                rows += got
                if done < len(left):
                    rows.append({"case": names[done], "reason": failed.replace(",", ";")[:160]})
                left = left[done + 1 :]
        return rows

    def watch(self, arguments, table, before, all_, ranks, timeout, threads):
        """Runs solves, with a line of progress; what went wrong, or nothing"""
        start = self.mpiexec + ["-n", str(ranks)] if ranks > 1 else []
        try:
            timeout = self.within(timeout)
        except RuntimeError as late:
            return str(late)
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)} if threads else None
        begin = time.time()
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                start + [self.program("solves")] + self.options + arguments,
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
            )
            while process.poll() is None:
                time.sleep(0.2)
                if self.log.isatty():
                    with open(table) as file:
                        self.say(f"{before + len({line.split(',')[0] for line in file})} of {all_} cases")
                if time.time() - begin > timeout:
                    process.terminate()  # which mpiexec passes on
                    try:
                        process.wait(5)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
                    return f"more than {timeout:.0f} s"
            if not process.returncode:
                return ""
            said.seek(0)
            return complaint(said.read()) or f"exit status {process.returncode}"


def group(rows, key="case"):
    """{key: rows}, in the order of the rows"""
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups


def parts(row, key="case"):
    """Names of cases are words with a bar between them"""
    return row[key].split("|")


def reached(rows, tolerance):
    """The number of iterations at which a curve of residuals comes below the tolerance, interpolated; else NaN"""
    before = None
    for row in rows:
        its, residual = number(row["its"]), number(row["residual"])
        if residual <= tolerance:
            if before is None or residual <= 0:
                return its
            part = math.log(before[1] / tolerance) / math.log(before[1] / residual)
            return before[0] + part * (its - before[0])
        before = its, residual
    return math.nan


def converged(row):
    return row.get("reason", "").startswith("CONVERGED")
