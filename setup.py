"""Builds the Python package petscbai by the makefile: docs/manual.md"""
import ast
import glob
import os
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel


def environment(code):
    """What Python prints that sees the packages of this environment, or nothing. -E, as pip hides them from builds"""
    for flags in [], ['-E']:
        command = [sys.executable, *flags, '-c', code]
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    return ''


def petsc4py():
    """The folder of the PETSc of petsc4py; or of headers for it if it has none, as in wheels; or nothing"""
    found = environment('import petsc4py; print(petsc4py.__path__[0], petsc4py.get_config(), sep="\\n")')
    if not found:
        return ''
    folder, config = found.split('\n')
    config = ast.literal_eval(config)
    prefix = os.path.normpath(os.path.join(config['PETSC_DIR'], config['PETSC_ARCH'].split(os.pathsep)[0]))
    if glob.glob(f'{prefix}/lib/pkgconfig/[pP][eE][tT][sS]c.pc'):
        return prefix
    extension = [*glob.glob(f'{folder}/lib/**/PETSc*.so', recursive=True), folder][0]
    libraries = subprocess.run(['ldd', extension], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    library = re.search(r'libpetsc\S* => (/\S+)', libraries)
    if not library:
        sys.exit(f'the petsc4py in {folder} does not say where its PETSc is: set PETSC_DIR [and PETSC_ARCH]')
    why = f'the PETSc of the petsc4py in {folder} has no headers'
    more = {'PETSC_LIBRARY': os.path.realpath(library[1]), 'PIP': f'{sys.executable} -E -m pip'}
    mpicc = os.path.join(sys.prefix, 'bin', 'mpicc')
    if os.path.exists(mpicc):
        more['MPICC'] = mpicc
    headers = subprocess.run(
        ['config/petsc.sh', 'headers', why], stdout=subprocess.PIPE, text=True, env={**more, **os.environ}
    )
    return headers.stdout.strip() if headers.returncode == 0 else sys.exit(f'{why}, and they cannot be had, see above')


def petsc():
    """What the environment lacks to name a PETSc: nothing if PETSC_DIR or pkg-config does"""
    lacks = {}
    if os.environ.get('PETSC_DIR'):
        whose, found = 'PETSC_DIR', os.path.join(os.environ['PETSC_DIR'], os.environ.get('PETSC_ARCH', ''))
    elif found := petsc4py():
        whose, lacks = 'petsc4py', {'PETSC_DIR': found, 'PETSC_ARCH': ''}
    elif found := environment('import petsc; print(petsc.get_petsc_dir())'):
        whose, lacks = "pip's package petsc", {'PETSC_DIR': found, 'PETSC_ARCH': ''}
    else:
        whose, command = 'pkg-config, as there is no petsc4py here', 'pkg-config --variable=prefix '
        found = subprocess.getoutput(f'{command} petsc 2>/dev/null || {command} PETSc 2>/dev/null')
        if not found:
            sys.exit('no PETSc to build with: install petsc4py before, or set PETSC_DIR [and PETSC_ARCH]')
    print(f'petscbai takes the PETSc of {whose}: {found}', file=sys.stderr)
    return lacks


class make(build_ext):
    def run(self):
        package = os.path.abspath('packaging/pip/petscbai' if self.inplace else f'{self.build_lib}/petscbai')
        if subprocess.call(['make', 'install', 'DESTDIR=', f'PREFIX={package}'], env={**os.environ, **petsc()}):
            sys.exit('make install failed, see above')
        # The folder is not the one that it will be in
        filename = os.path.join(package, 'lib', 'pkgconfig', 'petscbai.pc')
        with open(filename) as file:
            text = re.sub('^prefix=.*', 'prefix=${pcfiledir}/../..', file.read(), flags=re.MULTILINE)
        with open(filename, 'w') as file:
            file.write(text)


class any_python(bdist_wheel):
    """The library is for one platform, and for any Python"""

    def get_tag(self):
        return 'py3', 'none', super().get_tag()[2]


with open('include/petscbai.h') as file:
    version = re.findall(r'define PETSCBAI_VERSION_\w+ +(\d+)', file.read())

setup(
    name='petscbai',
    version='.'.join(version),
    description='Block-asynchronous iteration for PETSc',
    license='BSD-2-Clause',
    python_requires='>=3.8',
    packages=['petscbai'],
    package_dir={'petscbai': 'packaging/pip/petscbai'},
    ext_modules=[Extension('petscbai.lib', [])],  # none: that the package is for one platform
    cmdclass={'build_ext': make, 'bdist_wheel': any_python},
)
