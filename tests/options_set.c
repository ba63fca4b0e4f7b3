static char help[] = "Options give back what was set, before set-up and after it; what was chosen instead is in the "
                     "view. Wrong values change nothing.\n\n";

#include "check.h"
#include "gallery.h"

/* Sets all options to other values than the default ones, and gets them */
#define SetAll(FACE, face) \
  do { \
    PetscCall(FACE##BAISetLocalIters(face, 3)); \
    PetscCall(FACE##BAISetBlockSize(face, 24)); \
    PetscCall(FACE##BAISetMode(face, BAI_MODE_SYNC)); \
    PetscCall(FACE##BAISetPartition(face, BAI_PARTITION_GRAPH)); \
    PetscCall(FACE##BAISetWeight(face, BAI_WEIGHT_L1)); \
    PetscCall(FACE##BAISetOmega(face, 0.75)); \
    PetscCall(FACE##BAISetLocalOmega(face, 0.875)); \
    PetscCall(FACE##BAISetBackend(face, BAI_BACKEND_HOST)); \
  } while (0)

typedef struct {
  PetscInt         local_iters, block_size;
  PetscReal        omega, local_omega;
  BAIMode          mode;
  BAIPartitionType partition;
  BAIWeight        weight;
  BAIBackend       backend;
} Values;

#define GetAll(FACE, face, v) \
  do { \
    PetscCall(FACE##BAIGetLocalIters(face, &(v)->local_iters)); \
    PetscCall(FACE##BAIGetBlockSize(face, &(v)->block_size)); \
    PetscCall(FACE##BAIGetMode(face, &(v)->mode)); \
    PetscCall(FACE##BAIGetPartition(face, &(v)->partition)); \
    PetscCall(FACE##BAIGetWeight(face, &(v)->weight)); \
    PetscCall(FACE##BAIGetOmega(face, &(v)->omega)); \
    PetscCall(FACE##BAIGetLocalOmega(face, &(v)->local_omega)); \
    PetscCall(FACE##BAIGetBackend(face, &(v)->backend)); \
  } while (0)

static PetscErrorCode ExpectDefaults(const Values *v, PetscBool ksp, const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(Expect(v->local_iters == 5 && v->block_size == 0 && v->omega == 1, "%s", when));
  PetscCall(Expect(v->partition == BAI_PARTITION_AUTO && v->weight == BAI_WEIGHT_NONE && v->mode == BAI_MODE_AUTO &&
                     v->backend == BAI_BACKEND_AUTO,
                   "%s", when));
  PetscCall(Expect(v->local_omega == (ksp ? 1 : 0), "%s", when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectSet(const Values *v, const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(Expect(v->local_iters == 3 && v->block_size == 24 && v->omega == (PetscReal)0.75, "%s", when));
  PetscCall(Expect(v->partition == BAI_PARTITION_GRAPH && v->weight == BAI_WEIGHT_L1 && v->backend == BAI_BACKEND_HOST,
                   "%s", when));
  PetscCall(Expect(v->mode == BAI_MODE_SYNC && v->local_omega == (PetscReal)0.875, "%s", when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view tells what is in use for values that leave a choice */
static PetscErrorCode ExpectChoice(PetscObject obj, PetscBool device, const char blocks[])
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(ViewHas(obj, blocks, &has));
  PetscCall(Expect(has, "the view gives the block size chosen"));
  PetscCall(ViewHas(obj, device ? "backend cuda (where the matrix is)" : "backend host (where the matrix is)", &has));
  PetscCall(Expect(has, "the view gives the backend chosen"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up changes no option; neither does the next one */
static PetscErrorCode Solver(Mat A, PetscBool device)
{
  KSP      ksp;
  PetscInt interval;
  Values   v;

  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  GetAll(KSP, ksp, &v);
  PetscCall(ExpectDefaults(&v, PETSC_TRUE, "defaults of KSPBAI"));
  PetscCall(KSPSetUp(ksp));
  GetAll(KSP, ksp, &v);
  PetscCall(ExpectDefaults(&v, PETSC_TRUE, "defaults of KSPBAI after set-up"));
  PetscCall(ExpectChoice((PetscObject)ksp, device, "blocks of 128 rows (chosen)"));
  PetscCall(KSPBAISetLocalOmega(ksp, 0));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPBAIGetLocalOmega(ksp, &v.local_omega));
  PetscCall(Expect(v.local_omega == 0, "local_omega 0 of KSPBAI stays 0"));

  PetscCall(KSPBAISetCheckInterval(ksp, 7));
  SetAll(KSP, ksp);
  GetAll(KSP, ksp, &v);
  PetscCall(ExpectSet(&v, "options of KSPBAI that are set after set-up"));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  GetAll(KSP, ksp, &v);
  PetscCall(ExpectSet(&v, "options of KSPBAI after the second set-up"));
  PetscCall(KSPBAIGetCheckInterval(ksp, &interval));
  PetscCall(Expect(interval == 7, "check_interval"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preconditioner(Mat A, PetscBool device)
{
  PC        pc;
  PetscInt  its;
  PetscReal used;
  Values    v;

  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAI, &pc));
  GetAll(PC, pc, &v);
  PetscCall(ExpectDefaults(&v, PETSC_FALSE, "defaults of PCBAI"));
  PetscCall(PCSetUp(pc));
  GetAll(PC, pc, &v);
  PetscCall(ExpectDefaults(&v, PETSC_FALSE, "defaults of PCBAI after set-up"));
  PetscCall(ExpectChoice((PetscObject)pc, device, "blocks of 256 rows (chosen)"));
  PetscCall(ViewedNumber((PetscObject)pc, "local_omega ", &used));
  PetscCall(Expect(used > 0 && used <= (PetscReal)0.9, "the view gives the local_omega chosen"));

  SetAll(PC, pc);
  PetscCall(PCBAISetIterations(pc, 4));
  GetAll(PC, pc, &v);
  PetscCall(ExpectSet(&v, "options of PCBAI that are set after set-up"));
  PetscCall(PCBAIGetIterations(pc, &its));
  PetscCall(Expect(its == 4, "its"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewSolver(KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "foo_"));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSC_DECIDE is the number -1, but users have a word for it */
static PetscErrorCode Momentum(void)
{
  const char *const numbers[] = {"-1", "-1.0", "-0.5", "1", "2"}, *const read[] = {"-1.", "-1.", "-0.5", "1.", "2."};
  KSP       ksp = NULL;
  PetscReal momentum;
  char      text[128];

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(numbers); k++) {
    PetscCall(NewSolver(&ksp));
    PetscCall(KSPBAISetMomentum(ksp, 0.25));
    PetscCall(
      PetscSNPrintf(text, sizeof(text), "-foo_ksp_bai_momentum %s: must be at least 0 and less than 1", read[k]));
    ExpectError(text, numbers[k], SetOption((PetscObject)ksp, "momentum", "%s", numbers[k]));
    PetscCall(KSPBAIGetMomentum(ksp, &momentum));
    PetscCall(Expect(momentum == (PetscReal)0.25, "a wrong momentum changes nothing"));
  }
  PetscCall(NewSolver(&ksp));
  PetscCall(SetOption((PetscObject)ksp, "momentum", "0.5"));
  PetscCall(KSPBAIGetMomentum(ksp, &momentum));
  PetscCall(Expect(momentum == (PetscReal)0.5, "momentum 0.5"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A;
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 40, &A));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (Case("ksp")) PetscCall(Solver(A, device));
  if (Case("pc")) PetscCall(Preconditioner(A, device));
  if (Case("momentum")) PetscCall(Momentum());
  PetscCall(MatDestroy(&A));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    args: -malloc_dump 0

    test:
      suffix: host
      nsize: {{1 2}}

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
