"""Solves the Laplacian on n x n points with what petscbai registers: pip_solve.py before|after N [PETSc's options]

petscbai is imported before PETSc is initialized, or after that. The exit status is not 0 if a type is not there, if a
solve takes too many iterations, or if the true residual is too large."""
import sys

import petsc4py

when, n, options = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
if when == 'before':
    import petscbai
petsc4py.init(options)
from petsc4py import PETSc

if when == 'after':
    import petscbai

A = PETSc.Mat().createAIJ((n * n, n * n), nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = divmod(row, n)
    A.setValue(row, row, 4)
    for k, l in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
        if 0 <= k < n and 0 <= l < n:
            A.setValue(row, k * n + l, -1)
A.assemble()
x, b = A.createVecs()
b.set(1)

failed = False
for ksp_type, pc_type, most in (('bai', 'baimg', 20), ('cg', 'baimg', 20), ('cg', 'bai', n)):
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType(ksp_type)
    ksp.getPC().setType(pc_type)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setTolerances(rtol=1e-8)
    ksp.setFromOptions()
    ksp.solve(b, x)
    its, residual = ksp.getIterationNumber(), (b - A * x).norm() / b.norm()
    PETSc.Sys.Print(f'{ksp.getType()}, PC {pc_type}: {its} iterations, true residual {residual:.1e}')
    failed |= ksp.getConvergedReason() <= 0 or its > most or residual > 1.01e-8
sys.exit(failed)
