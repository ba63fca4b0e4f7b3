"""Tests of petscbai.solve(), Solver and preconditioner(): pip_scipy.py CASE; without CASE it lists them"""
import doctest
import sys
import types
import warnings


def poisson(n, dimensions=2, shift=0.0):
    """Finite differences with n points a side"""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    matrix = line
    for _ in range(dimensions - 1):
        matrix = sp.kron(matrix, sp.identity(n)) + sp.kron(sp.identity(matrix.shape[0]), line)
    return (matrix + shift * sp.identity(matrix.shape[0])).tocsr()


# On a GPU small systems are solved on the chip, without multigrid, unless it has an option
OFF_CHIP = {'pc_baimg_levels': 10}


def elasticity(n):
    """Plane strain of a square of n x n bilinear elements, one side clamped, and its three rigid body modes"""
    points = np.array([-1.0, 1.0]) / np.sqrt(3)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    stress = np.array([[1.7, 0.7, 0], [0.7, 1.7, 0], [0, 0, 0.5]])
    stiffness = np.zeros((8, 8))
    for x in points:
        for y in points:
            slopes = corners * (1 + corners[:, ::-1] * (y, x)) / 4
            strain = np.zeros((3, 8))
            strain[0, ::2], strain[1, 1::2] = slopes[:, 0], slopes[:, 1]
            strain[2, ::2], strain[2, 1::2] = slopes[:, 1], slopes[:, 0]
            stiffness += strain.T @ stress @ strain
    first = np.add.outer(np.arange(n) * (n + 1), np.arange(n)).ravel()
    nodes = first[:, None] + [0, 1, n + 2, n + 1]
    unknowns = (2 * nodes[:, :, None] + [0, 1]).reshape(-1, 8)
    entries = np.tile(stiffness, (len(first), 1, 1))
    rows, columns = np.broadcast_arrays(unknowns[:, :, None], unknowns[:, None, :])
    size = 2 * (n + 1) ** 2
    A = sp.coo_matrix((entries.ravel(), (rows.ravel(), columns.ravel())), (size, size)).tocsr()
    y, x = np.divmod(np.arange((n + 1) ** 2), n + 1)
    modes = np.zeros((size, 3))
    modes[::2, 0] = modes[1::2, 1] = 1
    modes[::2, 2], modes[1::2, 2] = -y, x
    free = np.repeat(x > 0, 2)
    return A[free][:, free], modes[free]


def solves(A, b, rtol=1e-8, **parameters):
    """The iterations, once the solution is that of spsolve"""
    x, info = petscbai.solve(A, b, rtol=rtol, full_output=True, **parameters)
    assert info.converged and info.iterations > 0, info
    assert np.linalg.norm(b - A @ x) <= 1.01 * rtol * np.linalg.norm(b)
    assert np.isclose(info.residual, np.linalg.norm(b - A @ x), rtol=1e-3, atol=1e-12 * np.linalg.norm(b)), info
    exact = spla.spsolve(A.tocsc(), b)
    assert np.linalg.norm(x - exact) <= 1e3 * rtol * np.linalg.norm(exact)
    assert x.shape == b.shape
    return info.iterations


def refuses(kind, words, call, *arguments, **parameters):
    try:
        call(*arguments, **parameters)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f'no {kind.__name__}: {words}')


def case_formats():
    A = poisson(30)
    b = np.arange(A.shape[0]) % 7
    for kind in 'csr', 'csc', 'coo', 'dia', 'lil', 'dok', 'bsr':
        solves(A.asformat(kind), b)
    solves(sp.csr_array(A), b)
    # Each entry in two halves, and rows not sorted
    order = np.lexsort((-A.indices, np.repeat(np.arange(900), np.diff(A.indptr))))
    halves, columns = np.repeat(A.data[order] / 2, 2), np.repeat(A.indices[order], 2)
    twice = sp.csr_matrix((halves, columns, 2 * A.indptr), A.shape)
    assert not twice.has_sorted_indices
    indices = twice.indices.copy()
    solves(twice, b)
    assert np.array_equal(twice.indices, indices)  # the user's matrix is as it was


def case_int64():
    A = poisson(30)
    A.indptr, A.indices = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    assert A.indices.dtype == np.int64
    solves(A, np.ones(A.shape[0]))


def case_types():
    A = poisson(20)
    single = petscbai.solve(A.astype(np.float32), np.ones(A.shape[0], np.float32), rtol=1e-5)
    assert single.dtype == np.float32
    assert petscbai.solve(A, np.ones(A.shape[0], int)).dtype == np.float64
    assert petscbai.solve(A.astype(int), np.ones(A.shape[0], np.float32)).dtype == np.float64
    assert petscbai.solve(A, [1.0] * A.shape[0]).dtype == np.float64


def case_complex():
    A = poisson(20) + 0.5j * sp.identity(400)
    if issubclass(PETSc.ScalarType, np.complexfloating):
        solves(A, np.ones(400) + 1j)
    else:
        refuses(TypeError, 'this PETSc has real scalars', petscbai.solve, A, np.ones(400))
        refuses(TypeError, 'this PETSc has real scalars', petscbai.solve, poisson(20), np.ones(400) + 1j)


def case_nonsymmetric():
    A = poisson(40)
    A = A + sp.diags([-0.9, 0.9], [-1, 1], shape=A.shape)
    solves(A, np.ones(A.shape[0]))


def case_not_converged():
    A = poisson(100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        x, info = petscbai.solve(A, np.ones(A.shape[0]), maxiter=2, full_output=True)
    assert [entry.category for entry in caught] == [petscbai.ConvergenceWarning]
    assert 'DIVERGED_MAX_IT after 2 iterations' in str(caught[0].message), caught[0].message
    assert info.reason == 'DIVERGED_MAX_IT' and info.iterations == 2 and not info.converged
    assert caught[0].filename == __file__, caught[0].filename


def case_columns():
    A = poisson(40)
    B = np.random.default_rng(0).random((A.shape[0], 3))
    for b in B, np.asfortranarray(B), B[:, :1]:
        x = petscbai.solve(A, b)
        assert x.shape == b.shape
        assert all(np.linalg.norm(b - A @ x, axis=0) <= 1.01e-8 * np.linalg.norm(b, axis=0))


def case_guess():
    A, b = poisson(40), np.ones(1600)
    x, first = petscbai.solve(A, b, full_output=True)
    given = x.copy()
    again, second = petscbai.solve(A, b, x0=x, full_output=True)
    assert first.iterations > 5 and second.iterations <= 1, (first, second)
    assert np.array_equal(given, x)
    column, third = petscbai.solve(A, b[:, None], x0=np.asfortranarray(x[:, None]), full_output=True)
    assert third.iterations <= 1 and np.allclose(column[:, 0], x)


def case_update():
    with petscbai.Solver(poisson(50), rtol=1e-10) as solver:
        for shift in 0, 1, 0.1:
            A, b = poisson(50, shift=shift), np.full(2500, 1.0 + shift)
            if shift:
                solver.update(A)
            x, info = solver.solve(b, full_output=True)
            assert info.converged and np.linalg.norm(b - A @ x) <= 1.01e-10 * np.linalg.norm(b)
        refuses(ValueError, 'another nonzero pattern', solver.update, A + sp.diags([1.0], [3], shape=A.shape))
        refuses(ValueError, 'another nonzero pattern', solver.update, poisson(49))
        assert np.allclose(solver.solve(b), x)


def case_mat():
    A = poisson(30)
    mat = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), comm=PETSc.COMM_SELF)
    b = np.ones(900)
    with petscbai.Solver(mat) as solver:
        x = solver.solve(b)
        assert np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
        mat.shift(1.0)
        solver.update(mat)
        x = solver.solve(b)
        assert np.linalg.norm(b - A @ x - x) <= 1.01e-8 * np.linalg.norm(b)
        refuses(TypeError, 'Mat', solver.update, A)
    assert mat.getSize() == (900, 900)  # the user's matrix remains
    refuses(ValueError, 'set them there', petscbai.solve, mat, b, block_size=2)


def case_initialized():
    """By the user, whose options are for other solvers"""
    assert PETSc.Options().getInt('ksp_max_it') == 1
    solves(poisson(30), np.ones(900))


def case_ranks():
    """Each solves a system of its own"""
    comm = PETSc.COMM_WORLD
    assert comm.getSize() == 2
    A = poisson(30 + comm.getRank())
    solves(A, np.ones(A.shape[0]))
    mat = PETSc.Mat().createAIJ((4, 4), nnz=1, comm=comm)
    mat.assemble()
    refuses(ValueError, 'distributed over MPI ranks', petscbai.solve, mat, np.ones(4))


def case_preconditioner():
    A, b = poisson(100), np.ones(10000)

    def iterations(M=None):
        norms = []
        x, failed = spla.cg(A, b, M=M, callback=lambda x: norms.append(np.linalg.norm(b - A @ x)), atol=0, maxiter=1000)
        assert not failed
        return len(norms)

    M = petscbai.preconditioner(A)
    assert M.shape == A.shape and M.dtype == A.dtype
    plain, ours = iterations(), iterations(M)
    assert ours <= 12 and 10 * ours < plain, (plain, ours)
    u, v = np.random.default_rng(0).random((2, 10000))
    assert np.isclose(u @ (M @ v), v @ (M @ u), rtol=1e-10)
    integers = petscbai.preconditioner(A.astype(int))
    assert integers.dtype == np.float64 and np.allclose(integers @ b, M @ b)


def case_near_null():
    A, modes = elasticity(40)
    b = np.ones(A.shape[0])
    without, blocks = solves(A, b), solves(A, b, block_size=2)
    ours = solves(A, b, block_size=2, near_null=modes)
    assert ours < blocks and ours < without and ours <= 25, (without, blocks, ours)


def case_options():
    A, b = poisson(40), np.ones(1600)
    for options in (
        {'ksp_type': 'cg', 'pc_type': 'jacobi'},
        {'-ksp_type': 'cg', '-pc_type': 'jacobi'},
        ('-ksp_type cg -pc_type jacobi'),
    ):
        with petscbai.Solver(A, options=options) as solver:
            assert (solver.ksp.getType(), solver.ksp.getPC().getType()) == ('cg', 'jacobi')
            prefix = solver.ksp.getOptionsPrefix()
            assert PETSc.Options(prefix).getAll() == {'ksp_type': 'cg', 'pc_type': 'jacobi'}
        assert not PETSc.Options(prefix).getAll()
        with petscbai.Solver(A) as solver:
            assert solver.ksp.getType() == 'bai'
    for options in ({'ksp_typ': 'cg', 'pc_baimg_over': 1.5}, '-ksp_typ cg -pc_baimg_over 1.5'):
        calls = (
            lambda: petscbai.solve(A, b, options=options),
            lambda: petscbai.Solver(A, options=options).solve(b),
            lambda: petscbai.preconditioner(A, options=options) @ b,
        )
        for call in calls:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter('always')
                call()
            assert [str(warning.message) for warning in seen] == ['options without effect: -ksp_typ'], seen
            assert call is calls[2] or seen[0].filename == __file__, seen[0].filename
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        petscbai.solve(A, b, options={'ksp_type': 'cg', 'pc_type': 'baimg', 'pc_baimg_over': 1.5})


def case_memory():
    import resource

    A, b = poisson(60), np.ones(3600)
    for count in range(300):
        solver = petscbai.Solver(A, options={'pc_baimg_levels': '3'})
        solver.solve(b)
        if count == 50:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8192  # KiB; one solver takes more than 1000


def case_cuda():
    A, modes = elasticity(40)
    b = np.ones(A.shape[0])
    assert solves(A, b, block_size=2, near_null=modes, device='cuda', options=OFF_CHIP) <= 25
    with petscbai.Solver(A, device='cuda') as solver:
        assert 'cusparse' in solver.ksp.getOperators()[0].getType()
        solver.update(2 * A)
        x = solver.solve(np.stack([b, 2 * b], axis=1))
        assert np.allclose(x[:, 1], 2 * x[:, 0], rtol=1e-5)
        assert np.linalg.norm(b - 2 * A @ x[:, 0]) <= 1.01e-8 * np.linalg.norm(b)
    M = petscbai.preconditioner(A, device='cuda')
    assert np.allclose(M @ b, petscbai.preconditioner(A) @ b, rtol=1e-5)
    # A Mat on the GPU, with vectors that have never been there
    mat = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), bsize=2, comm=PETSc.COMM_SELF)
    mat.convert('seqaijcusparse')
    vectors = [PETSc.Vec().createWithArray(mode, comm=PETSc.COMM_SELF) for mode in np.linalg.qr(modes)[0].T.copy()]
    mat.setNearNullSpace(PETSc.NullSpace().create(vectors=vectors, comm=PETSc.COMM_SELF))
    x, info = petscbai.solve(mat, b, full_output=True, options=OFF_CHIP)
    assert info.converged and info.iterations <= 25, info
    assert np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)


def on_gpu(A, b, rtol=1e-8, **parameters):
    """The solution, once it is one"""
    x, info = petscbai.solve(A, b, rtol=rtol, full_output=True, **parameters)
    assert isinstance(x, cupy.ndarray) and x.shape == b.shape, type(x)
    assert info.converged and info.iterations > 0, info
    b = cupy.asarray(b)
    norms = cupy.linalg.norm(b - A @ x, axis=0) / cupy.linalg.norm(b, axis=0)
    assert (norms <= 1.01 * rtol).all(), norms
    return x


def case_cupy_formats():
    A = cupyx.scipy.sparse.csr_matrix(poisson(30))
    b = cupy.arange(900) % 7.0
    exact = spla.spsolve(poisson(30).tocsc(), b.get())
    for kind in 'csr', 'csc', 'coo', 'dia':
        of_kind = getattr(cupyx.scipy.sparse, kind + '_matrix')(poisson(30).asformat(kind))
        assert np.allclose(on_gpu(of_kind, b).get(), exact, rtol=1e-5)
    # Each entry in two halves, rows not sorted
    order = cupy.lexsort(cupy.stack([-A.indices, cupy.repeat(cupy.arange(900), np.diff(A.indptr.get()).tolist())]))
    halves, columns = cupy.repeat(A.data[order] / 2, 2), cupy.repeat(A.indices[order], 2)
    twice = cupyx.scipy.sparse.csr_matrix((halves, columns.copy(), 2 * A.indptr), A.shape)
    x = petscbai.solve(twice, b)
    assert cupy.array_equal(twice.indices, columns)  # the user's matrix is as it was; CuPy's product sorts it
    assert cupy.linalg.norm(b - twice @ x) <= 1.01e-8 * cupy.linalg.norm(b)
    single = petscbai.solve(A.astype(np.float32), b.astype(np.float32), rtol=1e-5)
    assert single.dtype == np.float32 and petscbai.solve(A, b.astype(int)).dtype == np.float64


def case_cupy_vectors():
    A = cupyx.scipy.sparse.csr_matrix(poisson(40))
    B = cupy.random.default_rng(0).random((1600, 4))
    for b in B, cupy.asfortranarray(B), B[:, :1], B[:, ::2], B[:, 1]:
        on_gpu(A, b)
    x = on_gpu(A, B.get())
    given = x.copy()
    again, info = petscbai.solve(A, B, x0=x, full_output=True)
    assert info.iterations <= 1 and (given == x).all(), info
    with cupy.cuda.Stream(non_blocking=True):
        for power in range(20):
            b = cupy.full(1600, 2.0**power)
            on_gpu(A, b)
    # Arrays of CuPy for what is on the GPU by other means
    host = poisson(40)
    mat = PETSc.Mat().createAIJ(host.shape, csr=(host.indptr, host.indices, host.data), comm=PETSc.COMM_SELF)
    refuses(TypeError, 'need a matrix on the GPU', petscbai.solve, mat, B)
    refuses(TypeError, 'need a matrix on the GPU', petscbai.solve, host, B)
    for matrix, device in (host, 'cuda'), (mat.convert('seqaijcusparse'), None):
        assert cupy.allclose(petscbai.solve(matrix, B, device=device), x, rtol=1e-5)


def case_cupy_update():
    with petscbai.Solver(cupyx.scipy.sparse.csr_matrix(poisson(50)), rtol=1e-10) as solver:
        assert 'cusparse' in solver.ksp.getOperators()[0].getType()
        for shift in 0, 1, 0.1:
            A, b = cupyx.scipy.sparse.csr_matrix(poisson(50, shift=shift)), cupy.full(2500, 1.0 + shift)
            if shift:
                solver.update(A)
            x, info = solver.solve(b, full_output=True)
            assert info.converged and cupy.linalg.norm(b - A @ x) <= 1.01e-10 * cupy.linalg.norm(b)
        more = poisson(50) + sp.diags([1.0], [3], shape=A.shape)
        for other in more, poisson(49):
            refuses(ValueError, 'another nonzero pattern', solver.update, cupyx.scipy.sparse.csr_matrix(other))
        refuses(TypeError, 'of the kind', solver.update, poisson(50))
        assert cupy.allclose(solver.solve(b), x)


def case_cupy_near_null():
    A, modes = elasticity(40)
    A, b = cupyx.scipy.sparse.csr_matrix(A), cupy.ones(A.shape[0])
    for vectors in modes, cupy.asarray(modes):
        x, info = petscbai.solve(A, b, block_size=2, near_null=vectors, full_output=True, options=OFF_CHIP)
        assert info.converged and info.iterations <= 25, info
    refuses(ValueError, 'linearly independent', petscbai.solve, A, b, near_null=cupy.ones((A.shape[0], 2)))


def case_cupy_preconditioner():
    A, b = cupyx.scipy.sparse.csr_matrix(poisson(100)), cupy.ones(10000)
    M = petscbai.preconditioner(A)
    x, failed = cupyx.scipy.sparse.linalg.cg(A, b, M=M, rtol=1e-8, maxiter=30)
    assert not failed and cupy.linalg.norm(b - A @ x) <= 1.01e-8 * cupy.linalg.norm(b)
    assert isinstance(M @ b, cupy.ndarray) and (M @ cupy.stack([b, 2 * b], axis=1)).shape == (10000, 2)
    assert np.allclose((M @ b).get(), petscbai.preconditioner(poisson(100)) @ b.get(), rtol=1e-5)


def case_cupy_errors():
    A, b = cupyx.scipy.sparse.csr_matrix(poisson(10)), cupy.ones(100)
    refuses(ValueError, 'pass A.get()', petscbai.solve, A, b, device='cpu')
    refuses(TypeError, 'not ndarray', petscbai.solve, A.toarray(), b)
    refuses(ValueError, 'b must be of shape', petscbai.solve, A, b[1:])
    if not issubclass(PETSc.ScalarType, np.complexfloating):
        refuses(TypeError, 'this PETSc has real scalars', petscbai.solve, A * 1j, b)


def case_pyamg():
    A, b = poisson(200), np.ones(40000)
    x, info = petscbai.solve(A, b, rtol=1e-10, full_output=True)
    other = pyamg.ruge_stuben_solver(A).solve(b, tol=1e-10, accel='cg')
    assert np.linalg.norm(x - other) <= 1e-7 * np.linalg.norm(other)


def case_errors():
    A, b = poisson(10), np.ones(100)
    solve = petscbai.solve
    refuses(TypeError, 'scipy.sparse matrix, one of CuPy, or a petsc4py Mat, not ndarray', solve, A.toarray(), b)
    refuses(ValueError, 'square', solve, A[:50], b)
    refuses(ValueError, 'square', solve, sp.csr_matrix((0, 0)), b[:0])
    refuses(ValueError, 'b must be of shape (100,) or (100, k), not (99,)', solve, A, b[1:])
    refuses(ValueError, 'x0 must be of the shape of b', solve, A, b, x0=b[1:])
    refuses(TypeError, 'the entries of b must be numbers', solve, A, np.array(['1'] * 100))
    refuses(ValueError, 'block_size must divide the number of rows, 100, and 3 does not', solve, A, b, block_size=3)
    refuses(ValueError, 'near_null must be of shape (100, k)', solve, A, b, near_null=b)
    refuses(ValueError, 'linearly independent', solve, A, b, near_null=np.ones((100, 2)))
    refuses(ValueError, "device must be 'cpu' or 'cuda', not 'gpu'", solve, A, b, device='gpu')
    refuses(TypeError, 'unexpected keyword', solve, A, b, tol=1e-8)
    cupy = type('csr_matrix', (), {'__module__': 'cupyx.scipy.sparse._csr'})
    sys.modules.setdefault('cupy', types.ModuleType('cupy'))
    refuses(ValueError, 'pass A.get()', solve, cupy(), b, device='cpu')
    if not PETSc.Sys.hasExternalPackage('cuda'):
        refuses(RuntimeError, 'needs a PETSc that was built with CUDA', solve, cupy(), b)
        refuses(RuntimeError, 'needs a PETSc that was built with CUDA', solve, A, b, device='cuda')
    singular = A.tolil()
    singular[7, 7] = 0
    refuses(PETSc.Error, '', solve, singular.tocsr(), b)
    refuses(AttributeError, 'no attribute', getattr, petscbai, 'solver')


def case_doctest():
    failed, attempted = doctest.testmod(sys.modules['petscbai.solvers'])
    assert attempted > 10 and not failed


if __name__ == '__main__':
    if len(sys.argv) < 2:
        print(*(name[len('case_') :] for name in list(globals()) if name.startswith('case_')), sep='\n')
        sys.exit()
    if sys.argv[1] == 'initialized':
        import petsc4py

        petsc4py.init([sys.argv[0], '-ksp_max_it', '1'])
        from petsc4py import PETSc
    import numpy as np
    import petscbai
    import scipy.sparse as sp
    import scipy.sparse.linalg as spla

    petscbai.solve  # initializes PETSc
    from petsc4py import PETSc

    if sys.argv[1] == 'pyamg':
        import pyamg
    if sys.argv[1].startswith('cupy'):
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg
    globals()['case_' + sys.argv[1]]()
