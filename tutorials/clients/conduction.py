"""Steady heat conduction in a cube whose core conducts 1000 times as well, by FiPy: conduction.py CELLS_IN_A_ROW

FiPy takes PETSc with FIPY_SOLVERS=petsc, and PETSc the options of PETSC_OPTIONS.
"""
import sys

from fipy import CellVariable, DiffusionTerm, Grid3D

n = int(sys.argv[1])
mesh = Grid3D(nx=n, ny=n, nz=n, dx=1 / n, dy=1 / n, dz=1 / n)
core = (abs(mesh.faceCenters - 0.5) < 0.25).all(axis=0)
temperature = CellVariable(mesh=mesh)
temperature.constrain(1, mesh.facesLeft)
temperature.constrain(0, mesh.facesRight)
DiffusionTerm(coeff=1 + 999 * core).solve(var=temperature)
print('heat', float((temperature.faceGrad[0] * mesh.facesLeft).sum()) / n**2)
