"""Builds the Python package petscbai by the makefile: docs/packages.md"""
import os
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


def petsc():
    """What the environment lacks to name a PETSc: nothing if PETSC_DIR does, else that of pip, else pkg-config's"""
    if os.environ.get('PETSC_DIR'):
        return {}
    # -E, as pip hides the packages of this Python from builds
    command = [sys.executable, '-E', '-c', 'import petsc; print(petsc.get_petsc_dir())']
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if found.returncode == 0:
        return {'PETSC_DIR': found.stdout.strip(), 'PETSC_ARCH': ''}
    if subprocess.call('pkg-config --exists petsc || pkg-config --exists PETSc', shell=True):
        sys.exit('no PETSc to build with: set PETSC_DIR [and PETSC_ARCH], or install one that pip or pkg-config finds')
    return {}


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
    cmdclass={'build_ext': make},
)
