"""Solves -div grad u = f in the unit square by KSPBAI, or by any other KSP, from Python.

  python3 poisson.py -dll_append /path/to/libpetscbai.so
  mpiexec -n 2 python3 poisson.py -da_refine 1 -ksp_monitor        on several ranks, and with the options of any KSP
  python3 poisson.py -da_refine 2 -ksp_type fgmres -pc_type mg \\
    -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai
  python3 poisson.py -dm_mat_type aijcusparse -dm_vec_type cuda    on a GPU
  python3 poisson.py -plot poisson.png                             draws the solution and the residual norms

Without -dll_append the library is that of the environment variable BAI_LIB, if it is set.
"""
import os
import sys

import petsc4py

library = [] if '-dll_append' in sys.argv or 'BAI_LIB' not in os.environ else ['-dll_append', os.environ['BAI_LIB']]
petsc4py.init(sys.argv + library)

import numpy as np
from petsc4py import PETSc


def spacing(da):
    return [1 / (points - 1) for points in da.getSizes()]


def operator(ksp, J, A):
    """Five points; u = 0 on the boundary, to which the points inside are not coupled"""
    da = ksp.getDM()
    mx, my = da.getSizes()
    hx, hy = spacing(da)
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    (xs, xe), (ys, ye) = da.getRanges()
    for j in range(ys, ye):
        for i in range(xs, xe):
            row.index = (i, j)
            A.setValueStencil(row, row, 2 * (hy / hx + hx / hy))
            for k, l, value in ((i - 1, j, -hy / hx), (i + 1, j, -hy / hx), (i, j - 1, -hx / hy), (i, j + 1, -hx / hy)):
                if 0 < min(i, k) and max(i, k) < mx - 1 and 0 < min(j, l) and max(j, l) < my - 1:
                    col.index = (k, l)
                    A.setValueStencil(row, col, value)
    A.assemble()


def right_hand_side(da, b):
    """f of the solution sin(pi x) sin(pi y)"""
    hx, hy = spacing(da)
    (xs, xe), (ys, ye) = da.getRanges()
    with da.getVecArray(b) as values:
        sines = np.outer(np.sin(np.pi * hx * np.arange(xs, xe)), np.sin(np.pi * hy * np.arange(ys, ye)))
        values[:] = 2 * np.pi**2 * hx * hy * sines


def plot(filename, da, u, norms):
    natural = da.createNaturalVec()
    da.globalToNatural(u, natural)
    scatter, whole = PETSc.Scatter.toZero(natural)
    scatter.scatter(natural, whole)
    if da.comm.rank == 0:
        import matplotlib

        matplotlib.use('Agg')
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout='constrained')
        mx, my = da.getSizes()
        image = left.imshow(whole.getArray(readonly=True).real.reshape(my, mx), origin='lower', extent=(0, 1, 0, 1))
        figure.colorbar(image)
        left.set_title('solution')
        right.semilogy(norms)
        right.set_xlabel('iteration')
        right.set_title('residual norm')
        figure.savefig(filename)


filename = PETSc.Options().getString('plot', '')
da = PETSc.DMDA().create(sizes=(33, 33), stencil_width=1, setup=False)
da.setFromOptions()
da.setUp()

ksp = PETSc.KSP().create()
ksp.setDM(da)
ksp.setComputeOperators(operator)
ksp.setType('bai')
ksp.setTolerances(rtol=1e-8)
if filename:
    ksp.setConvergenceHistory()
ksp.setFromOptions()

b, u = da.createGlobalVec(), da.createGlobalVec()
right_hand_side(da, b)
ksp.solve(b, u)
A, _ = ksp.getOperators()
residual = (b - A * u).norm() / b.norm()
PETSc.Sys.Print(f'{ksp.getType()}: {ksp.getIterationNumber()} iterations, residual {residual:.1e}')
if filename:
    plot(filename, da, u, ksp.getConvergenceHistory())
if ksp.getConvergedReason() <= 0:
    sys.exit(f'did not converge, reason {ksp.getConvergedReason()}')
