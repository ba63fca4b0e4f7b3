static char help[] = "Options of PCBAI that are set after its set-up: an application does what a new PCBAI with these "
                     "options does, to the bit where a mode promises that.\n\n";

#include "check.h"
#include "gallery.h"

typedef struct {
  const char *name;
  PetscErrorCode (*set)(PC);
} Change;

static PetscErrorCode SetIts(PC pc)
{
  return PCBAISetIterations(pc, 3);
}
static PetscErrorCode SetLocalIters(PC pc)
{
  return PCBAISetLocalIters(pc, 2);
}
static PetscErrorCode SetOmega(PC pc)
{
  return PCBAISetOmega(pc, 0.75);
}
static PetscErrorCode SetLocalOmega(PC pc)
{
  return PCBAISetLocalOmega(pc, 0.625);
}
static PetscErrorCode SetBlockSize(PC pc)
{
  return PCBAISetBlockSize(pc, 48);
}
static PetscErrorCode SetPartition(PC pc)
{
  return PCBAISetPartition(pc, BAI_PARTITION_GRAPH);
}
static PetscErrorCode SetOverlap(PC pc)
{
  return PCBAISetOverlap(pc, 1);
}
static PetscErrorCode SetWeight(PC pc)
{
  return PCBAISetWeight(pc, BAI_WEIGHT_L1);
}
static PetscErrorCode SetTheta(PC pc)
{
  return PCBAISetTheta(pc, PETSC_TRUE);
}
static PetscErrorCode SetMomentum(PC pc)
{
  return PCBAISetMomentum(pc, 0.5);
}

/* A, or its diagonal: there the order of updates does not matter, so that all modes give the same bits */
static PetscErrorCode CreateMat(PetscBool diagonal, Mat *A)
{
  Mat full;
  Vec d;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 20, &full));
  *A = full;
  if (!diagonal) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(full, &d, NULL));
  PetscCall(MatGetDiagonal(full, d));
  PetscCall(MatZeroEntries(full));
  PetscCall(MatDiagonalSet(full, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, BAIMode mode, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCBAI));
  PetscCall(PCBAISetBlockSize(*pc, 32));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An application, or two smoothing steps from a guess */
static PetscErrorCode Apply(PC pc, Mat A, PetscBool richardson, Vec *x)
{
  Vec                         b, work;
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(VecDuplicate(b, &work));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSet(*x, 0.25));
  PetscCall(PCSetUp(pc));
  if (richardson) PetscCall(PCApplyRichardson(pc, b, *x, work, 0, 0, 0, 2, PETSC_FALSE, &its, &reason));
  else PetscCall(PCApply(pc, b, *x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a PCBAI in a mode that was applied, by a change, which may be one of the mode as well, to what a new one gives
 */
static PetscErrorCode Check(PetscBool diagonal, BAIMode from, BAIMode to, const Change *change)
{
  PC  pc, fresh;
  Mat A;
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(diagonal, &A));
  for (int richardson = 0; richardson < 2; richardson++) {
    PetscBool equal;

    PetscCall(CreatePC(A, from, &pc));
    PetscCall(Apply(pc, A, (PetscBool)richardson, &x));
    PetscCall(VecDestroy(&x));
    PetscCall(PCBAISetMode(pc, to));
    if (change) PetscCall(change->set(pc));
    PetscCall(CreatePC(A, to, &fresh));
    if (change) PetscCall(change->set(fresh));
    for (int again = 0; again < 2; again++) {
      PetscCall(Apply(pc, A, (PetscBool)richardson, &x));
      PetscCall(Apply(fresh, A, (PetscBool)richardson, &y));
      PetscCall(VecEqual(x, y, &equal));
      PetscCall(
        Expect(equal, "%s gives what it gives with a new PCBAI", richardson ? "a smoothing step" : "an application"));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(PCDestroy(&fresh));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Change changes[] = {
    {"its",         SetIts       },
    {"local_iters", SetLocalIters},
    {"omega",       SetOmega     },
    {"local_omega", SetLocalOmega},
    {"block_size",  SetBlockSize },
    {"partition",   SetPartition },
    {"overlap",     SetOverlap   },
    {"weight",      SetWeight    },
    {"theta",       SetTheta     },
    {"momentum",    SetMomentum  },
  };
  const Change *momentum = &changes[9];

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int from = BAI_MODE_ASYNC; from <= BAI_MODE_COLOR; from++) {
    for (int to = BAI_MODE_ASYNC; to <= BAI_MODE_COLOR; to++) {
      const PetscBool diagonal = (PetscBool)(to < BAI_MODE_SYNC);

      if (Case("%s_to_%s", BAIModes[from], BAIModes[to])) PetscCall(Check(diagonal, (BAIMode)from, (BAIMode)to, NULL));
      if (Case("%s_to_%s_momentum", BAIModes[from], BAIModes[to]))
        PetscCall(Check(diagonal, (BAIMode)from, (BAIMode)to, momentum));
    }
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
      if (Case("set_%s_%s", changes[k].name, BAIModes[mode]))
        PetscCall(Check(PETSC_FALSE, (BAIMode)mode, (BAIMode)mode, &changes[k]));
    }
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 3
      nsize: {{1 2}}
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -pc_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
