#!/usr/bin/env python3
"""Problems that levels from the matrix do not suit, with options that do: unsuited.py LIBRARY EX9 >table.csv

Prints rows of docs/data/measured.csv: iterations to 1e-8 of the norm of b. LIBRARY is libpetscbai.so, EX9 the program
of tutorials/ex9. Needs petsc4py with a PETSc that has hypre, and scikit-fem:
  python3 -m venv --system-site-packages venv && venv/bin/pip install 'numpy<2' 'scipy<1.14' scikit-fem
"""
import re
import subprocess
import sys
from datetime import date

import petsc4py

petsc4py.init([sys.argv[0], "-dll_append", sys.argv[1]])
import numpy as np
import scipy.sparse as sp
import skfem
from petsc4py import PETSc
from skfem.helpers import curl, div, dot

BAI = "-ksp_type bai"
BOOMER = "-ksp_type cg -pc_type hypre"
SPLIT = "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_type multiplicative" + "".join(
    f" -fieldsplit_{field}_ksp_type preonly -fieldsplit_{field}_pc_type baimg" for field in "wu"
)


def matrix(A):
    A = sp.csr_matrix(A)
    A.sort_indices()
    return PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), comm=PETSc.COMM_SELF)


def iterations(A, options, Pmat=None, prepare=lambda pc: None, b=None):
    """Or why it ended without a solution"""
    for name in (database := PETSc.Options()).getAll():
        database.delValue(name)
    database.insertString("-ksp_rtol 1e-8 -ksp_max_it 2000 -ksp_gmres_restart 200 -ksp_norm_type unpreconditioned ")
    database.insertString(options)
    ksp = PETSc.KSP().create(PETSc.COMM_SELF)
    ksp.setOperators(A, Pmat or A)
    ksp.setFromOptions()
    prepare(ksp.getPC())
    x, right = A.createVecs()
    right.setArray(np.ones(A.size[0]) if b is None else b)
    ksp.solve(right, x)
    ends = {
        PETSc.KSP.ConvergedReason.DIVERGED_BREAKDOWN: "stalls",
        PETSc.KSP.ConvergedReason.DIVERGED_MAX_IT: ">2000",
    }
    return ends.get(ksp.getConvergedReason(), ksp.getIterationNumber())


def laplacian(n):
    """5 points without the factor 1/h^2"""
    L = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    return sp.kron(L, sp.identity(n)) + sp.kron(sp.identity(n), L)


def clamped(n):
    """What a clamped boundary adds to the square of the Laplacian"""
    edge = np.zeros(n)
    edge[[0, -1]] = 2
    return sp.diags(np.add.outer(edge, edge).ravel())


def linear(A, n):
    """With 1, x and y as near null space"""
    x = np.arange(n) - n / 2
    basis, _ = np.linalg.qr(np.stack([np.ones(n * n), np.tile(x, n), np.repeat(x, n)], axis=1))
    vectors = [PETSc.Vec().createWithArray(column.copy(), comm=PETSc.COMM_SELF) for column in basis.T]
    A.setNearNullSpace(PETSc.NullSpace().create(vectors=vectors, comm=PETSc.COMM_SELF))
    return A


def two_equations(n):
    """L w = h^2 f and L u - h^2 w = 0; the unknowns are u, then w"""
    L, h2, N = laplacian(n), (n + 1.0) ** -2, n * n
    fields = [
        (name, PETSc.IS().createStride(N, first, 1, comm=PETSc.COMM_SELF)) for name, first in (("w", N), ("u", 0))
    ]
    A = matrix(sp.bmat([[L, -h2 * sp.identity(N)], [None, L]]))
    b = np.repeat([0.0, 1.0], N)
    return iterations(A, SPLIT, prepare=lambda pc: pc.setFieldSplitIS(*fields), b=b)


def helmholtz(n, k, sign):
    return matrix(laplacian(n) + sign * (k / (n + 1)) ** 2 * sp.identity(n * n))


def incidence(rows, columns, signs, shape):
    return sp.csr_matrix((np.ravel(signs), (np.ravel(rows), np.ravel(columns))), shape)


def tetrahedra(refined, faces):
    """curl curl + 1 on edges or grad div + 1 on faces of the unit cube, gradient, curl and points of the inner ones"""
    mesh = skfem.MeshTet().refined(refined)
    edges, facets, points = mesh.edges, mesh.facets, mesh.p
    basis = skfem.Basis(mesh, skfem.ElementTetRT0() if faces else skfem.ElementTetN0())
    leading = (lambda u, v: div(u) * div(v)) if faces else (lambda u, v: dot(curl(u), curl(v)))
    A = skfem.BilinearForm(lambda u, v, w: leading(u, v) + dot(u, v)).assemble(basis).tocsr()
    count, ends = edges.shape[1], [[-1], [1]] * np.ones((1, edges.shape[1]))
    gradient = incidence(np.tile(np.arange(count), (2, 1)), edges, ends, (count, points.shape[1]))
    corner = points[:, facets]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0], axis=0)
    inside = points[:, mesh.t[:, mesh.f2t[0]]].mean(axis=1)
    outward = np.sign(((corner.mean(axis=1) - inside) * normal).sum(axis=0))
    number = {pair: k for k, pair in enumerate(map(tuple, edges.T))}
    around = [[number[tuple(pair)] for pair in facets[list(pair)].T] for pair in ((0, 1), (1, 2), (0, 2))]
    signs = outward * [[1], [1], [-1]]
    total = facets.shape[1]
    rotation = incidence(np.tile(np.arange(total), (3, 1)), around, signs, (total, count))
    V = np.setdiff1d(np.arange(points.shape[1]), mesh.boundary_nodes())
    E = np.setdiff1d(np.arange(count), mesh.boundary_edges())
    F = np.setdiff1d(np.arange(total), mesh.boundary_facets())
    I = F if faces else E
    return matrix(A[I][:, I]), matrix(gradient[E][:, V]), matrix(rotation[F][:, E]), points[:, V].T.copy()


def auxiliary(refined, faces):
    """Iterations by levels and by hypre's auxiliary-space methods"""
    A, gradient, rotation, points = tetrahedra(refined, faces)

    def prepare(pc):
        pc.setHYPREDiscreteGradient(gradient)
        if faces:
            pc.setHYPREDiscreteCurl(rotation)
        pc.setCoordinates(points)

    method = "ads" if faces else "ams"
    return A.size[0], iterations(A, BAI), iterations(A, f"{BOOMER} -pc_hypre_type {method}", prepare=prepare)


def stokes(n):
    done = lambda *more: subprocess.run(
        [sys.argv[2], "-n", str(n), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ).stdout
    unknowns, count = re.search(r"(\d+) unknowns, (\d+) iterations", done()).groups()
    failed = "no diagonal entry" in done("-ksp_type", "bai", "-pc_type", "baimg")
    return unknowns, "error" if failed else "?", count


def problems():
    """Problem, unknowns, iterations by levels; what to use instead, its iterations"""
    plates = [(n, matrix(laplacian(n) @ laplacian(n) + clamped(n))) for n in (64, 128, 256)]
    yield "clamped plate, 13 points", "CG with BoomerAMG", [
        (n * n, iterations(A, BAI), iterations(A, BOOMER)) for n, A in plates
    ]
    yield "clamped plate, with 1, x, y attached", "", [(n * n, iterations(linear(A, n), BAI), "") for n, A in plates]
    yield "simply supported plate, 13 points", "two equations, FGMRES with `fieldsplit`", [
        (n * n, iterations(matrix(laplacian(n) @ laplacian(n)), BAI), two_equations(n)) for n in (64, 128, 256)
    ]
    yield "curl curl + 1, edge elements on tetrahedra", "CG with AMS", [auxiliary(r, False) for r in (3, 4)]
    yield "grad div + 1, face elements on tetrahedra", "CG with ADS", [auxiliary(r, True) for r in (3, 4)]
    for k in (20, 40):
        yield f"Helmholtz, 5 points, k = {k}", "GMRES with `baimg` of −Δ + k²", [
            (
                n * n,
                iterations(helmholtz(n, k, -1), BAI),
                iterations(helmholtz(n, k, -1), "-ksp_type gmres -pc_type baimg", helmholtz(n, k, 1)),
            )
            for n in (128, 256)
        ]
    yield "Stokes, `tutorials/ex9`", "GMRES with `fieldsplit`", [stokes(n) for n in (64, 128)]


commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
petsc = ".".join(map(str, PETSc.Sys.getVersion()))
for problem, instead, sizes in problems():
    columns = [", ".join(str(size[k]) for size in sizes).strip(", ") for k in range(3)]
    for column, value in zip(
        ("unknowns", "`-ksp_type bai`", "instead", "its iterations"), columns[:2] + [instead] + columns[2:]
    ):
        print(f'unsuited,problem,"{problem}",{column},"{value}",host,{commit},{date.today()},{petsc}', flush=True)
