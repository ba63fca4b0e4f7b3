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
static PetscErrorCode SetWeight(PC pc)
{
  return PCBAISetWeight(pc, BAI_WEIGHT_L1);
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
  PetscCall(NewPC(A, PCBAI, pc));
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

/* Other blocks of the same matrix, of which many or few could work at the same time in mode color, give mode auto
   anew */
static PetscErrorCode CheckAuto(PetscInt from, PetscInt to)
{
  const PetscInt n      = 4000;
  uint32_t       number = 1;
  PetscInt       first, last;
  PC             pc[2];
  Mat            A;
  Vec            x[2];
  PetscBool      equal;
  char           text[2][10000], *mode[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 32, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 32, NULL, 32, NULL));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = 0; row < n; row++) {
    if (row >= first && row < last) PetscCall(MatSetValue(A, row, row, 40.0, INSERT_VALUES));
    for (int k = 0; k < 3; k++) {
      number             = number * 1664525 + 1013904223;
      const PetscInt col = (PetscInt)(number >> 8) % n;

      if (col != row && row >= first && row < last) PetscCall(MatSetValue(A, row, col, -1.0, INSERT_VALUES));
      if (col != row && col >= first && col < last) PetscCall(MatSetValue(A, col, row, -1.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePC(A, BAI_MODE_AUTO, &pc[k]));
    PetscCall(PCBAISetPartition(pc[k], BAI_PARTITION_NATURAL));
    PetscCall(PCBAISetBlockSize(pc[k], k ? to : from));
    PetscCall(Apply(pc[k], A, PETSC_FALSE, &x[k]));
  }
  PetscCall(PCBAISetBlockSize(pc[0], to));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(Apply(pc[0], A, PETSC_FALSE, &x[0]));
  PetscCall(VecEqual(x[0], x[1], &equal));
  for (int k = 0; k < 2; k++) {
    PetscCall(ViewText((PetscObject)pc[k], sizeof(text[k]), text[k]));
    mode[k] = strstr(text[k], "mode ");
  }
  PetscCall(Expect(equal && mode[0] && mode[1] && !strncmp(mode[0], mode[1], 10), "%.10s, and %.10s of a new PCBAI",
                   mode[0], mode[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(VecDestroy(&x[k]));
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
    {"weight",      SetWeight    },
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int from = BAI_MODE_ASYNC; from <= BAI_MODE_COLOR; from++) {
    for (int to = BAI_MODE_ASYNC; to <= BAI_MODE_COLOR; to++) {
      const PetscBool diagonal = (PetscBool)(to < BAI_MODE_SYNC);

      if (Case("%s_to_%s", BAIModes[from], BAIModes[to])) PetscCall(Check(diagonal, (BAIMode)from, (BAIMode)to, NULL));
    }
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
      if (Case("set_%s_%s", changes[k].name, BAIModes[mode]))
        PetscCall(Check(PETSC_FALSE, (BAIMode)mode, (BAIMode)mode, &changes[k]));
    }
  }
  if (Case("auto_small_blocks")) PetscCall(CheckAuto(128, 1));
  if (Case("auto_large_blocks")) PetscCall(CheckAuto(1, 128));
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
