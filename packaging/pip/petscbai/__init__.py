"""petsc-bai for petsc4py: importing it registers the KSP type bai and the PC types bai and baimg.

It may be imported before or after PETSc is initialized. Before, it adds an option to PETSC_OPTIONS.

`solve(A, b)`, `Solver(A)` and `preconditioner(A)` take matrices of scipy.sparse and cupyx.scipy.sparse. The first
use of one of these names imports petsc4py and SciPy, and initializes PETSc."""
import ctypes
import os
import re
import sys
from importlib.metadata import version

__version__ = version('petscbai')
__all__ = ['library', 'solve', 'Solver', 'preconditioner', 'Info', 'ConvergenceWarning']


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from . import solvers

    return getattr(solvers, name)


def __dir__():
    return sorted({*globals(), *__all__})


def library():
    """Path of libpetscbai.so, for -dll_append"""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib', 'libpetscbai.so')


def _check():
    """Whether petsc4py has the release of PETSc that the library is for: to load that one beside it may fail unsaid"""
    try:
        import petsc4py
    except ImportError:
        return
    with open(os.path.join(os.path.dirname(library()), 'pkgconfig', 'petscbai.pc')) as file:
        built = re.search(r'^Requires: .*>= *([0-9.]+)', file.read(), re.MULTILINE)[1]
    found = '.'.join(petsc4py.__version__.split('.')[:2])
    if found != built:
        raise ImportError(
            f'libpetscbai was built for PETSc {built} and cannot be used with PETSc {found}, that of petsc4py: '
            'install petscbai again where petsc4py is, without PETSC_DIR'
        )


def _register():
    _check()
    PETSc = sys.modules.get('petsc4py.PETSc')
    if PETSc is None or not PETSc.Sys.isInitialized():
        # PetscInitialize() will load it. A -dll_append of the command line would replace one from here
        os.environ['PETSC_OPTIONS'] = os.environ.get('PETSC_OPTIONS', '') + f' -dll_prepend "{library()}"'
        return
    PETSc.Sys.pushErrorHandler('traceback')
    error = ctypes.CDLL(library()).BAIInitializePackage()
    PETSc.Sys.popErrorHandler()
    if error:
        raise ImportError(
            f'{library()} was built for another PETSc than petsc4py, see above. '
            'Install petscbai again, with PETSC_DIR [and PETSC_ARCH] set to the PETSc of petsc4py'
        )


_register()
