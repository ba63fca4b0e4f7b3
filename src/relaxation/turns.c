/*
   Colours of mode color for all ranks together: a global iteration is then Gauss-Seidel between ranks too, and
   the number of iterations hardly depends on the number of ranks. x is exchanged before each turn. On a device an
   exchange would be a kernel, and a turn often a launch, so there each rank has its own turns, and reads ghosts of the
   previous iteration.

   Neighbouring ranks find colours one after another, others at the same time: a rank waits for neighbours that precede
   it in a pseudorandom order, as vertices do in M. T. Jones, P. E. Plassmann, "A parallel graph coloring heuristic",
   SIAM J. Sci. Comput. 14, 1993
*/
#include "../petsc/baiimpl.h"
#include "../common/hash.h"
#include <petscsf.h>

/* Sets before[k] to whether ghost k belongs to a preceding rank, for which this rank waits */
static PetscErrorCode FindBefore(Mat A, PetscInt nghost, const PetscInt garray[], PetscBool before[])
{
  PetscLayout columns;
  PetscMPIInt rank, owner;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(MatGetLayouts(A, NULL, &columns));
  for (PetscInt k = 0; k < nghost; k++) {
    PetscCall(PetscLayoutFindOwner(columns, garray[k], &owner));
    before[k] = (PetscBool)(BAIHash((uint64_t)owner) < BAIHash((uint64_t)rank));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the colours of this rank's rows; returns when all ranks have theirs */
static PetscErrorCode FindColors(BAI *bai, Mat A, PetscInt n, PetscInt nghost, const PetscBool before[], BAIInt color[])
{
  BAIInt   *theirs;
  BAIStatus status = BAIStatusOf(BAI_OK);
  int       done = 0, all = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nghost + 1, &theirs));
  for (PetscInt i = 0; i < n; i++) color[i] = -1;
  for (PetscInt k = 0; k < nghost; k++) theirs[k] = -1;
  while (!all) {
    if (!done) {
      done = 1;
      for (PetscInt k = 0; k < nghost && done; k++) done = !before[k] || theirs[k] >= 0;
      if (done) status = BAIEngineColor(bai->relax.engine, theirs, color);
      if (status.code) PetscCall(PetscArrayzero(color, n)); /* so that other ranks do not wait forever */
    }
    /* a VecScatter is a PetscSF */
    PetscCall(PetscSFBcastBegin(bai->ranks.scatter, MPIU_INT, color, theirs, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(bai->ranks.scatter, MPIU_INT, color, theirs, MPI_REPLACE));
    PetscCallMPI(MPI_Allreduce(&done, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  }
  PetscCall(PetscFree(theirs));
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets ranks take turns together, in mode color on the host with a scatter; a transposed matrix has the turns of the
   matrix; collective */
PetscErrorCode BAITakeTurns(BAI *bai, Mat A, PetscInt nghost, const PetscInt garray[])
{
  PetscBool *before;
  PetscInt   n, turns = 0;
  int        can = bai->ranks.scatter && bai->relax.use.backend == BAI_BACKEND_HOST && BAIModeOf(bai) == BAI_MODE_COLOR;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, PetscObjectComm(bai->obj)));
  if (!can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(PetscFree(bai->ranks.color));
  PetscCall(PetscCalloc1(n + 1, &bai->ranks.color));
  PetscCall(PetscMalloc1(nghost + 1, &before));
  PetscCall(FindBefore(A, nghost, garray, before));
  if (bai->origin) PetscCall(PetscArraycpy(bai->ranks.color, bai->origin->ranks.color, n));
  else PetscCall(FindColors(bai, A, n, nghost, before, bai->ranks.color));
  for (PetscInt i = 0; i < n; i++) turns = PetscMax(turns, (PetscInt)bai->ranks.color[i] + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &turns, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCall(
    BAIAgree(bai, BAICheckStatus(bai, BAIEngineTakeTurns(bai->relax.engine, (BAIInt)turns, bai->ranks.color)), NULL));
  PetscCall(PetscFree(before));
  PetscFunctionReturn(PETSC_SUCCESS);
}
