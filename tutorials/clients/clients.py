"""Runs demonstrations of packages that use PETSc: with their own solver, and with petsc-bai.

  make clients                              all clients, first installing what they need
  make clients CLIENTS='slepc dolfinx'      some of them
  make test T=clients                       as tests: those whose packages are there, small and once

Demonstrations are the package's own files (FiPy's is ours). If a program sets its solver in code, the heading of its
table has the sed command that changes this line. All other choices are options, which are in the table.
Columns: iterations; seconds of set-up and of solve by PETSc's -log_view, of the fastest of three runs; a figure of the
program's output that depends on its answer.
"""
import argparse
import csv
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BAI = '-ksp_type bai'


class Missing(Exception):
    """What a client needs is not there"""


class Work:
    """The folder of a client, and what it may do to get what the client needs"""

    def __init__(self, name, install):
        self.folder, self.install = os.path.join(SOURCE, 'build', 'clients', name), install
        self.library, self.small = os.environ['BAI_LIB'], not install
        os.makedirs(self.folder, exist_ok=True)

    def call(self, *command, **environment):
        done = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f'{shlex.join(command)} fails:\n{done.stdout[-1500:]}{done.stderr[-1500:]}')
        return done.stdout

    def debian(self, *packages):
        """Packages of Debian, which go with its PETSc"""
        if not os.path.realpath(os.environ['PETSC_PREFIX']).startswith('/usr/lib/'):
            raise Missing("Debian's PETSc")
        if self.install:
            subprocess.run([os.path.join(SOURCE, 'config', 'packages.sh'), 'a client needs', *packages], check=True)
        for package in packages:
            if subprocess.run(['dpkg-query', '-W', package], capture_output=True).returncode:
                raise Missing(package)

    def venv(self, python, *commands, options=()):
        """The Python of an environment with packages of PyPI: what each pip install gets"""
        made = os.path.join(self.folder, 'venv')
        if not os.path.exists(os.path.join(made, 'complete')):
            if not self.install:
                raise Missing(os.path.relpath(made, SOURCE))
            shutil.rmtree(made, ignore_errors=True)
            self.call(python, '-m', 'venv', *options, made)
            # Not for the PETSc of the library, nor by the options of the make that runs this
            unset = dict.fromkeys(('PETSC_DIR', 'PETSC_ARCH', 'MAKEFLAGS', 'MFLAGS', 'MAKEOVERRIDES', 'NVCC'), '')
            for packages in commands:
                self.call(made + '/bin/pip', 'install', *packages, **unset)
            open(os.path.join(made, 'complete'), 'w').close()
        return made + '/bin/python'

    def compiled(self, source, *pkgconfig):
        """The program of one C file"""
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', *pkgconfig], capture_output=True, text=True)
        if flags.returncode or not os.path.exists(source):
            raise Missing(source if not flags.returncode else pkgconfig[0])
        program = os.path.join(self.folder, os.path.basename(source)[:-2])
        rpath = [f'-Wl,-rpath,{flag[2:]}' for flag in flags.stdout.split() if flag.startswith('-L')]
        rpath += ['-Wl,-rpath,' + os.path.join(os.environ['PETSC_PREFIX'], 'lib')]
        self.call(
            *shlex.split(os.environ['PETSC_CC']), '-w', source, '-o', program, *flags.stdout.split(), *rpath, '-lm'
        )
        return program

    def edited(self, source, name, sed):
        """A copy of a program in which sed changed something"""
        text = self.call('sed', '-E', sed, source)
        if text == open(source, encoding='utf-8').read():
            raise RuntimeError(f'{source} has no line for: sed -E {shlex.quote(sed)}')
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path


def slepc(work):
    """SLEPc's ex19, smallest eigenvalues of the Laplacian in three dimensions"""
    work.debian('slepc-dev', 'libslepc3.18-dev-examples')
    program = work.compiled(glob.glob('/usr/share/slepc/*/share/slepc/examples/src/eps/tutorials/ex19.c')[0], 'SLEPc')
    n = 12 if work.small else 40
    command = [program, *f'-da_grid_x {n} -da_grid_y {n} -da_grid_z {n} -eps_nev 4'.split()]
    which = {
        'log': ('EPSSetUp', 'EPSSolve'),
        'its': r'Number of iterations of the method: (\d+)',
        'answer': r'^ +(0\.\d+)',
    }
    yield f'shift-invert at 0, {n}^3 points', which
    invert = '-st_type sinvert -eps_target 0 -eps_target_magnitude '
    yield command, invert, 'its own: LU'
    yield command, invert + '-st_ksp_type cg -st_pc_type gamg -st_ksp_rtol 1e-9'
    yield command, invert + '-st_ksp_type bai -st_pc_type baimg -st_ksp_rtol 1e-9'
    yield f'LOBPCG, {n}^3 points', which
    for pc in 'gamg', 'icc', 'baimg':
        yield command, f'-eps_type lobpcg -st_type precond -st_pc_type {pc}'


def coarse(work):
    """PETSc's ex45 by PCMG with two levels: the solver of the coarse grid"""
    source = glob.glob(os.environ['PETSC_PREFIX'] + '/share/petsc/examples/src/ksp/ksp/tutorials/ex45.c')
    source += glob.glob('/usr/share/petsc/3.*/share/petsc/examples/src/ksp/ksp/tutorials/ex45.c')
    if not source:
        raise Missing("PETSc's examples")
    program = work.compiled(source[0], os.environ['PETSC_PC'])
    for n in (8, 12) if work.small else (8, 16, 32, 64):
        yield f'{n}^3 points on the coarse grid', {'log': ('MGSetup Level 0', 'MGSmooth Level 0')}
        command = [program, *f'-da_grid_x {n} -da_grid_y {n} -da_grid_z {n} -da_refine 1 -pc_mg_levels 2'.split()]
        command += '-ksp_type fgmres -ksp_rtol 1e-8 -pc_type mg -pc_mg_log'.split()
        if n < 64:  # a factorization takes minutes
            yield command, '-mg_coarse_ksp_type preonly -mg_coarse_pc_type redundant'
        yield command, '-mg_coarse_ksp_type cg -mg_coarse_pc_type jacobi -mg_coarse_ksp_rtol 1e-4'
        yield command, '-mg_coarse_ksp_type bai -mg_coarse_pc_type baimg -mg_coarse_ksp_rtol 1e-4'


def dolfinx(work):
    """DOLFINx from PyPI; a program's options in code win over the command line, so its line is changed"""
    recent = 'import sys; sys.exit(sys.version_info < (3, 12))'
    pythons = ['python3', 'python3.14', 'python3.13', 'python3.12']
    pythons += glob.glob(os.environ.get('PYENV_ROOT', '/none') + '/versions/3.1[2-9]*/bin/python3')
    able = (
        p for p in pythons if shutil.which(p) and not subprocess.run([p, '-c', recent], capture_output=True).returncode
    )
    python = work.venv(next(able, 'python3.12'), ['dolfinx-solver-real'], [SOURCE])
    version = work.call(
        python, '-c', 'from importlib import metadata as m; print(m.version("dolfinx-solver-real"))'
    ).strip()
    demos = os.environ.get('DOLFINX_DEMOS', os.path.join(work.folder, 'dolfinx', 'python', 'demo'))
    if not os.path.isdir(demos):
        if work.small:
            raise Missing('DOLFINX_DEMOS')
        work.call(*f'git clone -q --depth 1 --branch v{version} https://github.com/FEniCS/dolfinx'.split())
    work.library = work.call(python, '-m', 'petscbai').strip()
    run = [python, '-c', 'import dolfinx_solver, runpy, sys; runpy.run_path(sys.argv[1])']
    for name, prefix, sed in (
        ('poisson', ['demo_poisson_'], 's/"preonly", "pc_type": "lu"/"bai", "ksp_rtol": 1e-10/'),
        ('elasticity', [''], 's/^opts."(ksp|pc)_type".*/opts["ksp_type"] = "bai"/'),
    ):
        demo = os.path.join(demos, f'demo_{name}.py')
        yield f'demo_{name}, sed -E {shlex.quote(sed)}', {'prefix': prefix, 'answer': r'^Solution vector norm: *(\S+)'}
        yield [*run, demo], '', 'its own'
        yield [*run, work.edited(demo, f'{name}.py', sed)], '', 'edited'


def dealii(work):
    """deal.II's step-40, by options alone"""
    work.debian('libdeal.ii-dev', 'libdeal.ii-doc', 'cmake')
    source, program = '/usr/share/doc/libdeal.ii-doc/examples/step-40', os.path.join(work.folder, 'step-40')
    if not os.path.exists(program):
        if work.small:
            raise Missing('build/clients/dealii/step-40')
        work.call('cmake', '-DCMAKE_BUILD_TYPE=Release', '-S', source, '-B', work.folder)
        work.call('make')
    yield 'eight solves on refined grids', {}
    yield [program], '', 'its own: CG with BoomerAMG'
    yield [program], '-pc_type gamg'
    yield [program], BAI


def sfepy(work):
    """SfePy's Poisson equation, by options alone"""
    work.debian('python3-petsc4py', 'python3-venv')
    packages = 'numpy<2', 'scipy>=1.12,<1.14', 'sfepy'
    python = work.venv('/usr/bin/python3', packages, options=['--system-site-packages'])
    path = work.call(python, '-c', 'import sfepy; print(sfepy.__path__[0])').strip()
    n = 11 if work.small else 41
    yield f'poisson_parallel_interactive.py, {n}^3 points', {}
    command = [python, path + '/examples/diffusion/poisson_parallel_interactive.py', 'out', f'--shape={n},{n},{n}']
    yield command, '', 'its own: CG with GAMG'
    yield command, BAI


def fipy(work):
    """FiPy, by options alone"""
    work.debian('python3-petsc4py', 'python3-venv')
    python = work.venv('/usr/bin/python3', ['numpy<2', 'fipy'], options=['--system-site-packages'])
    n = 10 if work.small else 60
    command = ['env', 'FIPY_SOLVERS=petsc', python, os.path.join(os.path.dirname(__file__), 'conduction.py'), str(n)]
    yield f'conduction.py, {n}^3 cells', {'answer': '^heat (.*)'}
    yield command, '', 'its own'
    yield command, '-ksp_type cg -pc_type gamg'
    yield command, BAI


def firedrake(work):
    """Firedrake in an environment that docs/manual.md tells how to make, and demonstrations in its repository"""
    python, demos = os.path.join(work.folder, 'venv', 'bin', 'python'), os.environ.get('FIREDRAKE_DEMOS')
    if not os.path.exists(python) or not demos:
        raise Missing('FIREDRAKE_DEMOS' if os.path.exists(python) else os.path.relpath(python, SOURCE))
    work.library = work.call(python, '-m', 'petscbai').strip()
    for name, sed in (
        ('helmholtz/helmholtz', "s/'ksp_type': 'cg', 'pc_type': 'none'/'ksp_type': 'bai', 'pc_type': 'baimg'/"),
        ('matrix_free/poisson', 's/"ksp_type": "preonly"/"ksp_type": "bai"/; s/"lu"/"baimg"/'),
        ('multigrid/geometric_multigrid', 's/"preonly", "pc_type": "lu"/"bai", "pc_type": "baimg"/'),
    ):
        name, source = os.path.basename(name), os.path.join(demos, name + '.py.rst')
        # The indented lines after a line that ends with ::
        with open(source, encoding='utf-8') as file:
            blocks = re.findall(r'(?m)^(?!\.\. ).*::\n\n((?:(?: +.*)?\n)+)', file.read())
        with open(f'{work.folder}/{name}.py', 'w', encoding='utf-8') as program:
            program.write(textwrap.dedent(''.join(blocks)))
        changed = work.edited(f'{work.folder}/{name}.py', f'{name}_bai.py', sed)
        yield f'{name}, sed -E {shlex.quote(sed)}', {'prefix': [f'firedrake_{k}_' for k in range(9)]}
        yield [python, program.name], '', 'its own'
        yield [python, changed], '', 'edited'


CLIENTS = {f.__name__: f for f in (slepc, coarse, dolfinx, firedrake, dealii, sfepy, fipy)}


def times(path, events):
    """Seconds of each group of events, each the greatest of its ranks"""
    total = {}
    for row in csv.DictReader(open(path, encoding='utf-8')):
        row = {key.strip(): value for key, value in row.items() if key}
        total.setdefault(row['Event Name'], {}).setdefault(row['Rank'], []).append(float(row['Time']))
    greatest = {event: max(sum(ranks) for ranks in rows.values()) for event, rows in total.items()}
    return [max(greatest.get(event, 0) for event in group.split('|')) for group in events]


def run(
    work,
    command,
    options,
    ours,
    its=r'converged? due to \S+ iterations (\d+)',
    log=None,
    prefix=('',),
    answer='^$',
    runs=3,
):
    """One row of a table"""
    best = None
    for _ in range(runs):
        log_file = os.path.join(work.folder, 'log.csv')
        reasons = ' '.join(f'-{name}ksp_converged_reason' for name in prefix)
        given = f'-dll_append {work.library} {options} {reasons} -log_view :{log_file}:ascii_csv'
        output = work.call(*command, PETSC_OPTIONS=given, OMP_NUM_THREADS='1')
        seconds = times(log_file, log or ('PCSetUp|KSPSetUp', 'KSPSolve'))
        if best is None or sum(seconds) < sum(best):
            best = seconds
    found, told = re.findall(its, output), re.findall(answer, output, re.MULTILINE)
    if not found:
        raise RuntimeError(f'no iterations in the output of {shlex.join(command)}')
    failed = re.search('.*did not converge.*', output)
    if failed and ours:
        raise RuntimeError(failed[0])
    return f'{sum(map(int, found))}{", not converged" * bool(failed)}', *best, told[0] if told else ''


def table(name, install, runs):
    """The tables of a client"""
    work, keys = Work(name, install), {}
    for row in CLIENTS[name](work):
        if isinstance(row[0], str):
            title, keys = row
            print(f'\n{name}: {title}\n| options | iterations | set-up, s | solve, s | answer |\n|---|---|---|---|---|')
            continue
        command, options, label = (*row, '')[:3]
        iterations, setup, solve, told = run(
            work, command, options, 'bai' in options or label == 'edited', runs=runs, **keys
        )
        print(f'| {label or f"`{options}`"} | {iterations} | {setup:.3g} | {solve:.3g} | {told} |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('clients', nargs='*', default=list(CLIENTS), help=' '.join(CLIENTS))
    parser.add_argument('--tests', action='store_true', help='install nothing, run once, print lines for make test')
    parser.add_argument('--runs', type=int, default=3)
    arguments = parser.parse_args()
    failed = False
    for name in arguments.clients:
        try:
            if 'plain' not in os.environ.get('HAVE', 'plain').split():
                raise Missing('plain')
            table(name, not arguments.tests, 1 if arguments.tests else arguments.runs)
            verdict = f'ok clients-{name}'
        except Missing as missing:
            verdict = f'ok clients-{name} # SKIP {missing} required'
        except Exception as error:
            verdict, failed = f'not ok clients-{name} # {error}', True
        if arguments.tests or ' # ' in verdict:
            print(verdict)
    return failed


if __name__ == '__main__':
    sys.exit(main())
