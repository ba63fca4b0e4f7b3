"""solve(), Solver and preconditioner() of petscbai: sparse matrices of SciPy and CuPy, solved by PETSc"""
import contextlib
import ctypes
import itertools
import sys
import time
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import scipy.sparse
from petsc4py import PETSc

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


def _module(array):
    """CuPy for its arrays and matrices, which have imported it, else NumPy"""
    return sys.modules['cupy'] if type(array).__module__.split('.')[0] in ('cupy', 'cupyx') else np


def _csr(A):
    """Rows of a SciPy or CuPy matrix as PETSc takes them: sorted, without duplicates, in PETSc's types"""
    if not (scipy.sparse.issparse(A) or _module(A) is not np and hasattr(A, 'tocsr')):
        raise TypeError(f'A must be a scipy.sparse matrix, one of CuPy, or a petsc4py Mat, not {type(A).__name__}')
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
    cupy = _module(A) is not np
    if cupy and device == 'cpu':
        raise ValueError("device='cpu' does not take matrices of CuPy: pass A.get(), which copies it to the host")
    if (cupy or device == 'cuda') and not PETSc.Sys.hasExternalPackage('cuda'):
        raise RuntimeError("device='cuda', the default for CuPy, needs a PETSc that was built with CUDA")
    if block_size is None and getattr(A, 'format', '') == 'bsr' and A.blocksize[0] == A.blocksize[1]:
        block_size = A.blocksize[0]
    csr = _csr(A)
    n = A.shape[0]
    if block_size is not None and (block_size < 1 or n % block_size):
        raise ValueError(f'block_size must divide the number of rows, {n}, and {block_size} does not')
    if cupy:
        mat = _copy_pattern(csr)
        mat.setBlockSize(block_size or 1)
        _set_values(mat, csr[2])
    else:
        mat = PETSc.Mat().create(PETSc.COMM_SELF)
        mat.setSizes((n, n), block_size)
        mat.setType('seqaijcusparse' if device == 'cuda' else 'seqaij')
        mat.setPreallocationCSR(csr)
    if near_null is not None:
        mat.setNearNullSpace(_near_null(mat, near_null))
    return mat


def _call(name, *arguments):
    """Calls a function of PETSc that petsc4py does not have"""
    error = ctypes.CDLL(library())[name](*arguments)
    if error:
        raise PETSc.Error(error)


def _view(pointer, size, dtype):
    """An array of CuPy in memory of PETSc"""
    cuda = sys.modules['cupy'].cuda
    memory = cuda.UnownedMemory(pointer or 0, size * np.dtype(dtype).itemsize, None)
    return sys.modules['cupy'].ndarray((size,), dtype, cuda.MemoryPointer(memory, 0))


@contextlib.contextmanager
def _exchange():
    """Before and after it the GPU is idle, as the streams of CuPy and PETSc do not wait for each other"""
    device = sys.modules['cupy'].cuda.Device()
    device.synchronize()
    yield
    device.synchronize()


def _copy_pattern(csr):
    """A matrix on the GPU whose values are zero; it keeps the pattern on the host too, as PETSc wants it there"""
    host = csr[0].get(), csr[1].get(), np.zeros(csr[2].size, PETSc.ScalarType)
    n = host[0].size - 1
    return PETSc.Mat().createAIJWithArrays((n, n), host, comm=PETSc.COMM_SELF).convert('seqaijcusparse')


def _pattern(mat):
    """Row pointers and column indices on the GPU"""
    arrays = ctypes.c_void_p(), ctypes.c_void_p()
    _call('MatSeqAIJCUSPARSEGetIJ', ctypes.c_void_p(mat.handle), 0, *map(ctypes.byref, arrays))
    sizes = mat.getSize()[0] + 1, int(mat.getInfo()['nz_used'])
    return [_view(array.value, size, PETSc.IntType) for array, size in zip(arrays, sizes)]


def _set_values(mat, data):
    """Copies values of CuPy into a matrix on the GPU"""
    _pattern(mat)  # without which PETSc has no memory there yet
    handle, values = ctypes.c_void_p(mat.handle), ctypes.c_void_p()
    _call('MatSeqAIJCUSPARSEGetArrayWrite', handle, ctypes.byref(values))
    try:
        with _exchange():
            _view(values.value, data.size, PETSc.ScalarType)[:] = data
    finally:
        _call('MatSeqAIJCUSPARSERestoreArrayWrite', handle, ctypes.byref(values))


def _put(vec, array):
    """Copies an array of NumPy or CuPy into a vector"""
    if _module(array) is np:
        vec.setArray(array)
        return
    if 'cuda' not in vec.getType():
        raise TypeError("arrays of CuPy need a matrix on the GPU: of CuPy, with device='cuda', or a Mat that is there")
    handle = vec.getCUDAHandle('w')
    try:
        with _exchange():
            _view(handle, array.size, PETSc.ScalarType)[:] = array.ravel()
    finally:
        vec.restoreCUDAHandle(handle, 'w')


def _get(vec, module):
    """The values of a vector as an array of NumPy, which is valid until the vector changes, or of CuPy"""
    if module is np:
        return vec.getArray(readonly=True)
    handle = vec.getCUDAHandle('r')
    try:
        with _exchange():
            return _view(handle, vec.getSize(), PETSc.ScalarType).copy()
    finally:
        vec.restoreCUDAHandle(handle, 'r')


def _near_null(mat, vectors):
    """PETSc wants orthonormal vectors"""
    xp = _module(vectors)
    vectors = xp.asarray(vectors)
    n = mat.getSize()[0]
    if vectors.ndim != 2 or vectors.shape[0] != n or not 0 < vectors.shape[1] <= n:
        raise ValueError(f'near_null must be of shape ({n}, k), a column for each vector, not {vectors.shape}')
    _scalars(vectors, 'near_null')
    basis, factor = xp.linalg.qr(vectors)
    if not xp.all(xp.abs(factor.diagonal()) > 1e-10 * xp.linalg.norm(vectors, axis=0)):
        raise ValueError('the columns of near_null must be linearly independent')
    petsc = [mat.createVecRight() for _ in range(vectors.shape[1])]
    for vec, column in zip(petsc, basis.T):
        _put(vec, column)
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
    A : scipy.sparse or cupyx.scipy.sparse matrix or array of any format, (n, n), or petsc4py Mat on one MPI rank
        Its indices may have 32 or 64 bits; its entries may be complex if the scalars of PETSc are. A Mat is not copied.
        A matrix of CuPy is copied on the GPU; only its pattern goes to the host as well, once.
    rtol, atol : float
        A solve ends when the norm of b - A x is at most max(rtol * norm(b), atol). The default solver also asks that
        the residual, divided row by row by the diagonal of A, has fallen by rtol.
    maxiter : int
        Iterations at most.
    near_null : array_like (n, k), optional
        Near-null-space vectors, a column each, such as the rigid body modes of elasticity: vectors for which A x is
        nearly zero far from the boundary. The multigrid preconditioner uses two to eight of them. They may be of CuPy
        if the matrix is on the GPU.
    block_size : int, optional
        Unknowns at each point, numbered one after the other; default: 1, or that of a BSR matrix.
    device : {'cpu', 'cuda'}, optional
        Where the solver works; default: where A is. 'cuda' needs a PETSc with CUDA, and copies matrix and vectors of
        SciPy and NumPy to the GPU. 'cpu' does not take a matrix of CuPy.
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
        If device is 'cuda', or A of CuPy, and PETSc has no CUDA.
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
        self._users, self._xp = self._mat is A, _module(A)
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
        A : matrix of the kind that the solver was made with, (n, n)
            With entries where the first one had some; a value may be zero, but must be stored. A Mat may be the first
            one with new values. Of CuPy nothing goes to the host.

        Raises
        ------
        ValueError
            If the pattern is another one: then make a new Solver.
        """
        begin = time.perf_counter()
        if (isinstance(A, PETSc.Mat), _module(A)) != (self._users, self._xp):
            raise TypeError('A must be of the kind that this Solver was made with: a Mat, of SciPy, or of CuPy')
        if self._users:
            self._mat = A
            self.ksp.setOperators(A)
        else:
            csr = _csr(A)
            pattern = self._mat.getRowIJ() if self._xp is np else _pattern(self._mat)
            if not all(self._xp.array_equal(new, old) for new, old in zip(csr, pattern)):
                raise ValueError('A has another nonzero pattern than the matrix of this Solver: make a new one')
            if self._xp is np:
                self._mat.setValuesCSR(*csr)
                self._mat.assemble()
            else:
                _set_values(self._mat, csr[2])
            self._dtype = A.dtype
        self.ksp.setUp()
        self._setup_time = time.perf_counter() - begin

    def solve(self, b, x0=None, *, full_output=False):
        """Solves A x = b.

        Parameters
        ----------
        b : array_like (n,) or (n, k)
            Right-hand sides are columns, which are solved one after the other. They may be of CuPy if the matrix is on
            the GPU.
        x0 : array_like of the shape of b, optional
            Initial guess; default: zero.
        full_output : bool
            Whether to return an `Info` as well.

        Returns
        -------
        x : numpy.ndarray of the shape of b, or cupy.ndarray if A or b is of CuPy
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
        xp = self._xp if self._xp is not np else _module(b)
        b = xp.asarray(b)
        n = self._mat.getSize()[0]
        if b.ndim not in (1, 2) or b.shape[0] != n:
            raise ValueError(f'b must be of shape ({n},) or ({n}, k), not {b.shape}')
        x = xp.zeros(b.shape, PETSc.ScalarType) if x0 is None else xp.array(x0, order='C')
        if x.shape != b.shape:
            raise ValueError(f'x0 must be of the shape of b, {b.shape}, not {x.shape}')
        _scalars(b, 'b')
        _scalars(x, 'x0')
        x = x.astype(PETSc.ScalarType, copy=False)
        begin = time.perf_counter()
        self.ksp.setInitialGuessNonzero(x0 is not None)
        reason, iterations, residual = 0, 0, 0.0
        for column, solution in zip(b.reshape(n, -1).T, x.reshape(n, -1).T):
            _put(self._b, column)
            if x0 is not None:
                _put(self._x, solution)
            self.ksp.solve(self._b, self._x)
            solution[:] = _get(self._x, xp)
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
    A : scipy.sparse or cupyx.scipy.sparse matrix or array of any format, (n, n), or petsc4py Mat on one MPI rank
    b : array_like (n,) or (n, k)
        Right-hand sides are columns.
    x0, full_output
        As for `Solver.solve`.
    **parameters
        rtol (1e-8), atol (0), maxiter (10000), near_null, block_size, device and options, as for `Solver`.

    Returns
    -------
    x : numpy.ndarray of the shape of b, or cupy.ndarray if A or b is of CuPy
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

    @property
    def dtype(self):
        """That of A, or if its entries are integers a type for fractions"""
        return np.result_type(self._dtype, np.float32)

    def apply(self, vector):
        _put(self._b, vector)
        self.ksp.getPC().apply(self._b, self._x)
        self._check_options()
        return _get(self._x, self._xp).astype(self.dtype)


def preconditioner(A, *, near_null=None, block_size=None, device=None, options=None):
    """One multigrid cycle (PCBAIMG), for the Krylov methods of scipy.sparse.linalg or cupyx.scipy.sparse.linalg.

    It is symmetric and positive definite if A is, so that it preconditions conjugate gradients.

    Parameters
    ----------
    A, near_null, block_size, device
        As for `Solver`.
    options : dict or str, optional
        Options of PETSc for this preconditioner alone, such as {'pc_type': 'gamg'}.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator, (n, n), or that of cupyx.scipy.sparse.linalg if A is of CuPy

    Examples
    --------
    >>> import numpy as np, petscbai, scipy.sparse as sp, scipy.sparse.linalg as spla
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000), format='csr')
    >>> x, failed = spla.cg(A, np.ones(1000), M=petscbai.preconditioner(A))
    >>> failed
    0
    """
    solver = _Cycle(A, near_null=near_null, block_size=block_size, device=device, options=options)
    if solver._xp is np:
        from scipy.sparse.linalg import LinearOperator
    else:
        from cupyx.scipy.sparse.linalg import LinearOperator
    return LinearOperator(solver._mat.getSize(), solver.apply, dtype=solver.dtype)
