"""solve(), Solver and preconditioner() of petscbai: sparse matrices of SciPy, solved by PETSc"""
import ctypes
import itertools
import time
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import scipy.sparse
from petsc4py import PETSc
from scipy.sparse.linalg import LinearOperator

from . import library

_prefixes = (f'petscbai_{number}_' for number in itertools.count())
_reasons = {value: name for name, value in vars(PETSc.KSP.ConvergedReason).items() if 'VERGED_' in name}


class ConvergenceWarning(UserWarning):
    """A solve ended before it met its tolerances. The message names PETSc's reason."""


class Info(NamedTuple):
    """How a solve went. With several right-hand sides, numbers are those of the worst one.

    Attributes
    ----------
    reason : str
        The name of it in petsc4py, as 'CONVERGED_RTOL' or 'DIVERGED_MAX_IT'; the first failure if there is one.
    iterations : int
        The largest number.
    residual : float
        The largest norm of b - A x, as the solver knows it. Other solvers than the default one may report the norm
        that they test, which can be another one.
    setup_time : float
        Seconds that it took to copy the matrix to PETSc and to set up the solver, for this matrix, the last time.
    solve_time : float
        Seconds of all right-hand sides together.
    """

    reason: str
    iterations: int
    residual: float
    setup_time: float
    solve_time: float

    @property
    def converged(self):
        """Whether all right-hand sides met the tolerances"""
        return self.reason.startswith('CONVERGED')


def _csr(A):
    """Rows of a SciPy matrix as PETSc takes them: sorted, without duplicates, in PETSc's types"""
    if type(A).__module__.split('.')[0] in ('cupy', 'cupyx'):
        raise TypeError('matrices of CuPy are not supported: pass A.get(), which copies it to the host')
    if not scipy.sparse.issparse(A):
        raise TypeError(f'A must be a scipy.sparse matrix or a petsc4py Mat, not {type(A).__name__}')
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        raise ValueError(f'A must be square and not empty, not of shape {A.shape}')
    _scalars(A, 'A')
    csr = A.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()  # tocsr() may have returned the user's
        csr.sum_duplicates()
    if max(csr.shape[0], csr.nnz) > np.iinfo(PETSc.IntType).max:
        raise ValueError(f'{csr.nnz} entries are too many for the indices of this PETSc, which have 32 bits')
    indices = (array.astype(PETSc.IntType, copy=False) for array in (csr.indptr, csr.indices))
    return *indices, csr.data.astype(PETSc.ScalarType, copy=False)


def _scalars(array, name):
    """An error if PETSc cannot represent the entries"""
    if array.dtype.kind not in 'buifc':
        raise TypeError(f'the entries of {name} must be numbers, not {array.dtype}')
    if array.dtype.kind == 'c' and not np.issubdtype(PETSc.ScalarType, np.complexfloating):
        raise TypeError(f'{name} is complex and this PETSc has real scalars: use petsc4py with complex scalars')


def _matrix(A, near_null, block_size, device):
    """The PETSc matrix"""
    if isinstance(A, PETSc.Mat):
        if A.getComm().getSize() > 1:
            raise ValueError('A is distributed over MPI ranks: use petsc4py, with ksp.setType("bai")')
        if near_null is not None or block_size is not None or device is not None:
            raise ValueError('near_null, block_size and device are properties of a Mat: set them there')
        return A
    if device not in (None, 'cpu', 'cuda'):
        raise ValueError(f"device must be 'cpu' or 'cuda', not {device!r}")
    if device == 'cuda' and not PETSc.Sys.hasExternalPackage('cuda'):
        raise RuntimeError("device='cuda' needs a PETSc that was built with CUDA")
    if block_size is None and getattr(A, 'format', '') == 'bsr' and A.blocksize[0] == A.blocksize[1]:
        block_size = A.blocksize[0]
    csr = _csr(A)
    n = A.shape[0]
    if block_size is not None and (block_size < 1 or n % block_size):
        raise ValueError(f'block_size must divide the number of rows, {n}, and {block_size} does not')
    mat = PETSc.Mat().create(PETSc.COMM_SELF)
    mat.setSizes((n, n), block_size)
    mat.setType('seqaijcusparse' if device == 'cuda' else 'seqaij')
    mat.setPreallocationCSR(csr)
    if near_null is not None:
        mat.setNearNullSpace(_near_null(mat, near_null))
    return mat


def _near_null(mat, vectors):
    """PETSc wants orthonormal vectors"""
    vectors = np.asarray(vectors)
    n = mat.getSize()[0]
    if vectors.ndim != 2 or vectors.shape[0] != n or not 0 < vectors.shape[1] <= n:
        raise ValueError(f'near_null must be of shape ({n}, k), a column for each vector, not {vectors.shape}')
    _scalars(vectors, 'near_null')
    basis, factor = np.linalg.qr(vectors)
    size = np.abs(factor.diagonal())
    if not np.all(size > 1e-10 * np.linalg.norm(vectors, axis=0)):
        raise ValueError('the columns of near_null must be linearly independent')
    petsc = [mat.createVecRight() for _ in size]
    for vec, column in zip(petsc, basis.T):
        vec.setArray(column)
    return PETSc.NullSpace().create(constant=False, vectors=petsc, comm=PETSc.COMM_SELF)


def _set_options(prefix, options):
    """Puts options into PETSc's database, below a prefix"""
    if isinstance(options, str):
        database = PETSc.Options()
        database.prefixPush(prefix)
        try:
            database.insertString(options)
        finally:
            database.prefixPop()
    else:
        for name, value in dict(options or {}).items():
            PETSc.Options(prefix).setValue(name.lstrip('-'), value)


def _without_effect(prefix):
    """Options below a prefix that nothing has asked for, which are probably misspelt"""
    is_used = ctypes.CDLL(library()).PetscOptionsUsed
    names = []
    for name in PETSc.Options(prefix).getAll():
        used = ctypes.c_int(0)  # of a PetscBool, which has one byte or four
        if is_used(None, f'{prefix}{name}'.encode(), ctypes.byref(used)) == 0 and not used.value:
            names.append('-' + name)
    return names


def _destroy(prefix, objects):
    for name in PETSc.Options(prefix).getAll():
        PETSc.Options(prefix).delValue(name)
    for petsc in objects:
        petsc.destroy()


class Solver:
    """Solves systems with one matrix, for any number of right-hand sides, and with new values in its pattern.

    The matrix is copied to PETSc and the solver is set up when the object is made. It is a context manager: the end of
    the block frees the memory, as does `close()`, or the end of the object.

    Parameters
    ----------
    A : scipy.sparse matrix or array of any format, (n, n), or petsc4py Mat on one MPI rank
        Its indices may have 32 or 64 bits; its entries may be complex if the scalars of PETSc are. A Mat is not copied.
    rtol, atol : float
        A solve ends when the norm of b - A x is at most max(rtol * norm(b), atol). The default solver also asks that
        the residual, divided row by row by the diagonal of A, has fallen by rtol.
    maxiter : int
        Iterations at most.
    near_null : array_like (n, k), optional
        Near-null-space vectors, a column each, such as the rigid body modes of elasticity: vectors for which A x is
        nearly zero far from the boundary. The multigrid preconditioner uses two to eight of them.
    block_size : int, optional
        Unknowns at each point, numbered one after the other; default: 1, or that of a BSR matrix.
    device : {'cpu', 'cuda'}, optional
        Where the solver works. 'cuda' needs a PETSc with CUDA, and copies matrix and vectors to the GPU.
    options : dict or str, optional
        Options of PETSc for this solver alone, such as {'ksp_type': 'cg', 'pc_type': 'gamg'} or '-ksp_monitor'. Those
        of the command line and of PETSC_OPTIONS have no effect on it.

    Attributes
    ----------
    ksp : petsc4py.PETSc.KSP
        PETSc's solver, of type bai unless `options` name another one.

    Raises
    ------
    TypeError
        If A is of another type, or complex where PETSc is not.
    ValueError
        If a shape or a value does not fit, or if A is distributed over MPI ranks.
    RuntimeError
        If device is 'cuda' and PETSc has no CUDA.
    petsc4py.PETSc.Error
        If PETSc or the solver refuses A. The message names options with the private prefix of this solver; `options`
        take them without it.

    Notes
    -----
    Each solver is sequential: in a program with several MPI ranks each rank solves systems of its own. For one system
    on several ranks use petsc4py, with ``ksp.setType('bai')``. On a host the solver uses OMP_NUM_THREADS threads.

    Examples
    --------
    Steps of the heat equation, with a new step size for the last ones:

    >>> import numpy as np, petscbai, scipy.sparse as sp
    >>> n = 100
    >>> K = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format='csr') * n**2
    >>> u = np.sin(np.pi * np.arange(n) / n)
    >>> with petscbai.Solver(sp.identity(n) + 0.01 * K) as solver:
    ...     for step in range(5):
    ...         u = solver.solve(u)
    ...     solver.update(sp.identity(n) + 0.1 * K)
    ...     u, info = solver.solve(u, full_output=True)
    >>> info.reason
    'CONVERGED_RTOL'
    """

    def __init__(
        self,
        A,
        *,
        rtol=1e-8,
        atol=0.0,
        maxiter=10000,
        near_null=None,
        block_size=None,
        device=None,
        options=None,
    ):
        begin = time.perf_counter()
        prefix = next(_prefixes)
        objects = []
        self.close = weakref.finalize(self, _destroy, prefix, objects)
        self._mat = _matrix(A, near_null, block_size, device)
        self._users = self._mat is A
        if not self._users:
            objects.append(self._mat)
        self._dtype = np.dtype(getattr(A, 'dtype', PETSc.ScalarType))
        self._x, self._b = self._mat.createVecs()
        self.ksp = PETSc.KSP().create(PETSc.COMM_SELF)
        objects += [self._x, self._b, self.ksp]
        _set_options(prefix, options)
        self.ksp.setOptionsPrefix(prefix)
        self.ksp.setOperators(self._mat)
        self.ksp.setType(self._ksp_type)
        if self._ksp_type == 'preonly':
            self.ksp.getPC().setType('baimg')
        self.ksp.setTolerances(rtol=rtol, atol=atol, max_it=maxiter)
        self.ksp.setFromOptions()
        self.ksp.setUp()
        self._setup_time = time.perf_counter() - begin
        self._options_unchecked = bool(options)

    _ksp_type = 'bai'
    _stacklevel = 2  # warnings name the line that called solve()

    def _check_options(self):
        """Warns once of options without effect, after all objects have asked for theirs"""
        names = _without_effect(self.ksp.getOptionsPrefix()) if self._options_unchecked else []
        self._options_unchecked = False
        if names:
            warnings.warn(f'options without effect: {", ".join(names)}', UserWarning, stacklevel=self._stacklevel + 1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def update(self, A):
        """Takes new values of the matrix, and sets up the solver for them, which costs less than the first time.

        Parameters
        ----------
        A : scipy.sparse matrix or array, (n, n)
            With entries where the first one had some; a value may be zero, but must be stored. If the solver was made
            with a Mat: a Mat, which may be the first one with new values.

        Raises
        ------
        ValueError
            If the pattern is another one: then make a new Solver.
        """
        begin = time.perf_counter()
        if isinstance(A, PETSc.Mat) != self._users:
            raise TypeError('A must be a Mat if this Solver was made with one, and a scipy.sparse matrix if not')
        if self._users:
            self._mat = A
            self.ksp.setOperators(A)
        else:
            csr = _csr(A)
            pattern = self._mat.getRowIJ()
            if not all(np.array_equal(new, old) for new, old in zip(csr, pattern)):
                raise ValueError('A has another nonzero pattern than the matrix of this Solver: make a new one')
            self._mat.setValuesCSR(*csr)
            self._mat.assemble()
            self._dtype = A.dtype
        self.ksp.setUp()
        self._setup_time = time.perf_counter() - begin

    def solve(self, b, x0=None, *, full_output=False):
        """Solves A x = b.

        Parameters
        ----------
        b : array_like (n,) or (n, k)
            Right-hand sides are columns, which are solved one after the other.
        x0 : array_like of the shape of b, optional
            Initial guess; default: zero.
        full_output : bool
            Whether to return an `Info` as well.

        Returns
        -------
        x : numpy.ndarray of the shape of b
            In the common type of A and b, which is float64 if both are integers.
        info : Info
            Only with `full_output`.

        Warns
        -----
        ConvergenceWarning
            If a column did not converge; x is then the last iterate.
        UserWarning
            If an option has no effect; in the first solve.
        """
        b = np.asarray(b)
        n = self._mat.getSize()[0]
        if b.ndim not in (1, 2) or b.shape[0] != n:
            raise ValueError(f'b must be of shape ({n},) or ({n}, k), not {b.shape}')
        x = np.zeros(b.shape, PETSc.ScalarType) if x0 is None else np.array(x0, order='C')
        if x.shape != b.shape:
            raise ValueError(f'x0 must be of the shape of b, {b.shape}, not {x.shape}')
        _scalars(b, 'b')
        _scalars(x, 'x0')
        x = x.astype(PETSc.ScalarType, copy=False)
        begin = time.perf_counter()
        self.ksp.setInitialGuessNonzero(x0 is not None)
        reason, iterations, residual = 0, 0, 0.0
        for column, solution in zip(b.reshape(n, -1).T, x.reshape(n, -1).T):
            self._b.setArray(column)
            if x0 is not None:
                self._x.setArray(solution)
            self.ksp.solve(self._b, self._x)
            solution[:] = self._x.getArray(readonly=True)
            if reason >= 0:
                reason = self.ksp.getConvergedReason()
            iterations = max(iterations, self.ksp.getIterationNumber())
            residual = float(np.maximum(residual, self.ksp.getResidualNorm()))
        seconds = time.perf_counter() - begin
        self._check_options()
        info = Info(_reasons.get(reason, str(reason)), iterations, residual, self._setup_time, seconds)
        if reason < 0:
            warnings.warn(
                f'{info.reason} after {iterations} iterations, norm of the residual {residual:.3g}',
                ConvergenceWarning,
                stacklevel=self._stacklevel,
            )
        dtype = np.result_type(self._dtype, b.dtype, np.float32 if b.dtype.kind in 'fc' else np.float64)
        x = (x if dtype.kind == 'c' else x.real).astype(dtype, copy=False)
        return (x, info) if full_output else x


def solve(A, b, *, x0=None, full_output=False, **parameters):
    """Solves A x = b, by PETSc's solver bai: a Krylov method, preconditioned by multigrid.

    Parameters
    ----------
    A : scipy.sparse matrix or array of any format, (n, n), or petsc4py Mat on one MPI rank
    b : array_like (n,) or (n, k)
        Right-hand sides are columns.
    x0, full_output
        As for `Solver.solve`.
    **parameters
        rtol (1e-8), atol (0), maxiter (10000), near_null, block_size, device and options, as for `Solver`.

    Returns
    -------
    x : numpy.ndarray of the shape of b
    info : Info
        Only with `full_output`: reason, iterations, residual norm, times in seconds.

    Warns
    -----
    ConvergenceWarning
        If it did not converge.
    UserWarning
        If an option has no effect.

    Examples
    --------
    >>> import numpy as np, petscbai, scipy.sparse as sp
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000))
    >>> b = np.ones(1000)
    >>> x, info = petscbai.solve(A, b, rtol=1e-10, full_output=True)
    >>> bool(np.linalg.norm(b - A @ x) <= 1e-10 * np.linalg.norm(b)), info.converged
    (True, True)
    """
    with Solver(A, **parameters) as solver:
        solver._stacklevel = 3
        return solver.solve(b, x0, full_output=full_output)


class _Cycle(Solver):
    """Applies the preconditioner instead"""

    _ksp_type = 'preonly'

    def apply(self, vector):
        self._b.setArray(vector)
        self.ksp.getPC().apply(self._b, self._x)
        self._check_options()
        return self._x.getArray(readonly=True).astype(self._dtype)


def preconditioner(A, *, near_null=None, block_size=None, device=None, options=None):
    """One multigrid cycle (PCBAIMG), for the Krylov methods of scipy.sparse.linalg.

    It is symmetric and positive definite if A is, so that it preconditions conjugate gradients.

    Parameters
    ----------
    A, near_null, block_size, device
        As for `Solver`.
    options : dict or str, optional
        Options of PETSc for this preconditioner alone, such as {'pc_type': 'gamg'}.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator, (n, n)

    Examples
    --------
    >>> import numpy as np, petscbai, scipy.sparse as sp, scipy.sparse.linalg as spla
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000), format='csr')
    >>> x, failed = spla.cg(A, np.ones(1000), M=petscbai.preconditioner(A))
    >>> failed
    0
    """
    solver = _Cycle(A, near_null=near_null, block_size=block_size, device=device, options=options)
    return LinearOperator(solver._mat.getSize(), solver.apply, dtype=solver._dtype)
