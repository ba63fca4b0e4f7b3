"""Heat conduction in a ball, -div k grad T = q, on tetrahedra of scikit-fem, solved by the KSP that the options select.

  pip install scikit-fem
  python3 heat.py -dll_append /path/to/libpetscbai.so
  python3 heat.py -ksp_type cg -pc_type baimg                   block-asynchronous multigrid as preconditioner
  python3 heat.py -ksp_type cg -pc_type gamg                    and what PETSc has
  python3 heat.py -unknowns 1000000 -ksp_monitor                a larger system
  mpiexec -n 2 python3 heat.py                                  on several ranks; each makes the whole mesh
  python3 heat.py -mat_type aijcusparse -vec_type cuda          on a GPU

The core conducts C times as well as the axis of the ball: -contrast C (100). The mesh has at least -unknowns points.
-renumber 0 keeps the order of the mesh. Without -dll_append the library is that of the environment variable BAI_LIB.
"""
import logging
import os
import sys
import time

import petsc4py

library = [] if '-dll_append' in sys.argv or 'BAI_LIB' not in os.environ else ['-dll_append', os.environ['BAI_LIB']]
petsc4py.init(sys.argv + library)

import numpy as np
import skfem
from petsc4py import PETSc
from scipy.sparse.csgraph import reverse_cuthill_mckee
from skfem.helpers import dot, grad

logging.getLogger('skfem').setLevel(logging.ERROR)  # it warns of each copy

CENTRE, RADIUS = (0.2, 0, 0.1), 0.35  # of the core, in a ball of radius 1


def distance(x):
    """To the centre of the core"""
    return np.sqrt(sum((x[i] - CENTRE[i]) ** 2 for i in range(3)))


def refined_mesh(unknowns):
    """Refines what is large for its distance to the surface of the core, until there are enough points"""
    mesh = skfem.MeshTet.init_ball(2)
    while mesh.nvertices < unknowns:
        corners = mesh.p[:, mesh.t]
        volume = np.abs(np.linalg.det((corners[:, 1:] - corners[:, :1]).transpose(2, 0, 1)))
        size = volume / (0.05 + np.abs(distance(corners.mean(axis=1)) - RADIUS)) ** 3
        mesh = mesh.refined(np.flatnonzero(size >= np.quantile(size, 0.7)))
    return mesh.with_boundaries({'cooled': lambda x: x[2] < -0.5})


def finite_elements(mesh, contrast):
    """Matrix and right-hand side: T = 0 where the surface is cooled, insulated elsewhere, heat is made in the core"""

    @skfem.BilinearForm
    def conduction(u, v, w):
        return np.where(distance(w.x) < RADIUS, contrast, 1 + w.x[0] ** 2 + w.x[1] ** 2) * dot(grad(u), grad(v))

    @skfem.LinearForm
    def heat(v, w):
        return np.where(distance(w.x) < RADIUS, 1, 0) * v

    basis = skfem.Basis(mesh, skfem.ElementTetP1())
    return skfem.condense(conduction.assemble(basis), heat.assemble(basis), D=basis.get_dofs('cooled'), expand=False)


def renumbered(K, q):
    """The mesh numbers its newest points last, wherever they are; this puts neighbours on the same rank"""
    order = reverse_cuthill_mckee(K, symmetric_mode=True)
    return K[order][:, order], q[order]


def to_petsc(K, q):
    """Each rank sets its rows; the types are those of -mat_type and -vec_type"""
    A, b = PETSc.Mat().create(), PETSc.Vec().create()
    b.setSizes(len(q))
    b.setFromOptions()
    first, last = b.getOwnershipRange()
    b.setArray(q[first:last])
    A.setSizes([b.getSizes()] * 2)
    A.setFromOptions()
    own = K[first:last]
    own.sort_indices()
    A.setPreallocationCSR((own.indptr, own.indices, own.data))
    A.setOption(PETSc.Mat.Option.SPD, True)
    return A, b


options = PETSc.Options()
times = [time.perf_counter()]
mesh = refined_mesh(options.getInt('unknowns', 100000))
times.append(time.perf_counter())
K, q = finite_elements(mesh, options.getReal('contrast', 100))
A, b = to_petsc(*(renumbered(K, q) if options.getBool('renumber', True) else (K, q)))
T = b.duplicate()
times.append(time.perf_counter())

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType('bai')
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)  # one stopping test for all solvers
ksp.setTolerances(rtol=1e-8)
ksp.setFromOptions()
ksp.setUp()
times.append(time.perf_counter())
ksp.solve(b, T)
times.append(time.perf_counter())

name = ksp.getType() if ksp.getType() == 'bai' else f'{ksp.getType()} with {ksp.getPC().getType()}'
mesh_s, matrix_s, setup_s, solve_s = np.diff(times)
PETSc.Sys.Print(
    f'{b.getSize()} unknowns, mesh {mesh_s:.1f} s, matrix {matrix_s:.1f} s, highest temperature {T.max()[1]:.5g}'
)
PETSc.Sys.Print(
    f'{name}: {ksp.getIterationNumber()} iterations, residual {(b - A * T).norm() / b.norm():.1e}, '
    f'set-up {setup_s:.3f} s, solve {solve_s:.3f} s'
)
if ksp.getConvergedReason() <= 0:
    sys.exit(f'did not converge, reason {ksp.getConvergedReason()}')
