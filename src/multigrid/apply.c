/* Cycles and solves by the levels of a hierarchy: of one rank, of all ranks together, or of a gathered system */
#include "hierarchy.h"

/* Does a cycle, or a solve, from b to x, for the other arguments in run */
PetscErrorCode BAIHierarchyRun(BAI *bai, Vec b, Vec x, BAIRun *run)
{
  const BAIHierarchy h      = bai->hierarchy;
  const PetscBool    device = (PetscBool)(h->backend == BAI_BACKEND_CUDA);
  BAILevelsSolution  unused = {.its = 0};
  BAIStatus          status = BAIStatusOf(BAI_OK);
  PetscErrorCode     code   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!run->tolerances) run->solution = &unused;
  PetscCall(PetscLogEventBegin(BAI_Cycle, b, x, 0, 0));
  if (h->jacobi) PetscCall(PCApply(h->jacobi, b, x));
  else {
    PetscCall(BAIHierarchyBind(bai, b, x, (PetscBool)(!run->tolerances || run->guess_zero), &run->v));
    if (device) PetscCall(BAILogDeviceBegin());
    if (h->gathered) code = BAIGatheredRun(h->gathered, h->levels, run, &status);
    else if (h->ranks) code = BAIRankLevelsRun(h->ranks, run, &status);
    else if (h->levels) status = BAIRunLevels(h->levels, run); /* otherwise this rank has no rows */
    if (device) PetscCall(BAILogDeviceEnd());
    if (run->monitor) PetscCall(*run->code);
    PetscCall(code);
    PetscCall(BAIHierarchyUnbind(bai, x, &run->v));
    PetscCall(BAIHierarchyLogFlops(h, run->tolerances ? BAISolveFlops(h, run->solution->its) : h->flops));
  }
  PetscCall(PetscLogEventEnd(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets z to a cycle for r. Vectors have the numbering of the matrix of the levels, and the units of the user */
PetscErrorCode BAIHierarchyCycle(BAI *bai, Vec r, Vec z)
{
  const BAIHierarchy h   = bai->hierarchy;
  BAIRun             run = {.tolerances = NULL};

  PetscFunctionBegin;
  if (h->scaling.left) PetscCall(VecPointwiseMult(h->scaling.r, h->scaling.left, r));
  PetscCall(BAIHierarchyRun(bai, h->scaling.left ? h->scaling.r : r, z, &run));
  if (h->scaling.right) PetscCall(VecPointwiseMult(z, z, h->scaling.right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets z to a cycle for r, or, with conjugate, to the conjugate of a cycle for the conjugate of r */
PetscErrorCode BAIHierarchyApply(BAI *bai, Vec r, Vec z, PetscBool conjugate)
{
  const BAIHierarchy    h  = bai->hierarchy;
  const BAIInterleaved *i  = &h->interleaved;
  Vec                   in = r;

  PetscFunctionBegin;
  if (!h->finite) {
    PetscCall(VecSet(z, (PetscScalar)INFINITY)); /* tells the KSP that the set-up failed */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (conjugate) {
    PetscCall(VecDuplicate(r, &in));
    PetscCall(VecCopy(r, in));
    PetscCall(VecConjugate(in));
  }
  if (i->fields) {
    PetscCall(MatMultTranspose(i->Q, in, i->r));
    PetscCall(BAIHierarchyCycle(bai, i->r, i->z));
    PetscCall(MatMult(i->Q, i->z, z));
  } else PetscCall(BAIHierarchyCycle(bai, in, z));
  if (conjugate) {
    PetscCall(VecConjugate(z));
    PetscCall(VecDestroy(&in));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
