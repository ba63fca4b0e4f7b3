#include "bench.h"
#include <omp.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateIncrease() */
#include <stdlib.h>

static const PetscInt local_iters[] = {1, 2, 5, 9};

/* The threads of each KSPBAI that is set up from here on */
PetscErrorCode SetThreads(PetscInt threads)
{
  char text[16];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT, threads));
  PetscCheck(!setenv("OMP_NUM_THREADS", text, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  omp_set_num_threads((int)threads);
  PetscFunctionReturn(0);
}

static PetscErrorCode Multiply(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(MatMult(s->A, s->b, s->x));
  PetscFunctionReturn(0);
}

/* Five sweeps of Gauss-Seidel over the rows of each process */
static PetscErrorCode Relax(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(MatSOR(s->A, s->b, 1, SOR_LOCAL_FORWARD_SWEEP, 0, 1, 5, s->x));
  PetscFunctionReturn(0);
}

/* count global iterations, in one go */
static PetscErrorCode Iterate(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(s->ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, count));
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Forget(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  (void)count;
  PetscCall(KSPReset(s->ksp));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  (void)count;
  PetscCall(KSPSetUp(s->ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode UpdateValues(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(PetscObjectStateIncrease((PetscObject)s->A));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
    PetscCall(KSPSetUp(s->ksp));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(System *s, BAIMode mode, PetscInt sweeps)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetOptionsPrefix(s->ksp, "bai_"));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscCall(KSPSetType(s->ksp, KSPBAI));
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(KSPSetNormType(s->ksp, KSP_NORM_NONE));
  PetscCall(KSPBAISetMode(s->ksp, mode));
  PetscCall(KSPBAISetLocalIters(s->ksp, sweeps));
  PetscFunctionReturn(0);
}

/* Repetitions of work that takes this long, so that its start does not count, as in a long solve */
static PetscInt Count(PetscReal seconds)
{
  return (PetscInt)PetscMax(10, PetscMin(1000, 0.02 / seconds));
}

/*
  Bytes that have to come from memory and go there at least once: every entry with its column, a row's offset, and
  vectors. The blocks' values are read in local sweeps too, from fast memory, which is not counted.
*/
static PetscReal Bytes(const Bench *bench, int vectors)
{
  return bench->nnz * (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt)) +
    (PetscReal)bench->n * (PetscReal)(sizeof(PetscInt) + vectors * sizeof(PetscScalar));
}

static PetscErrorCode BenchProduct(Bench *bench, System *s)
{
  Figure product;

  PetscFunctionBeginUser;
  PetscCall(Progress(bench, "MatMult"));
  PetscCall(Measure(bench, NULL, Multiply, s, 10, &product));
  PetscCall(Measure(bench, NULL, Multiply, s, Count(product.median), &product));
  bench->product = product.median;
  PetscCall(Report(bench, "MatMult", &product, "MatMult", product.median, Bytes(bench, 2)));
  PetscFunctionReturn(0);
}

static PetscErrorCode BenchMode(const Bench *bench, System *s, BAIMode mode)
{
  char   what[64];
  Figure figure;

  PetscFunctionBeginUser;
  PetscCall(Progress(bench, BAIModes[mode]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(local_iters); k++) {
    PetscCall(CreateSolver(s, mode, local_iters[k]));
    PetscCall(Measure(bench, NULL, Iterate, s, Count(bench->product), &figure));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s-(%" PetscInt_FMT ")", BAIModes[mode], local_iters[k]));
    PetscCall(Report(bench, what, &figure, "MatMult", bench->product, Bytes(bench, 3)));
    PetscCall(KSPDestroy(&s->ksp));
  }
  PetscCall(CreateSolver(s, mode, 5));
  PetscCall(Measure(bench, Forget, SetUp, s, 1, &figure));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s set-up", BAIModes[mode]));
  PetscCall(Report(bench, what, &figure, "MatMult", bench->product, 0));
  PetscCall(Measure(bench, NULL, UpdateValues, s, 1, &figure));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s new values", BAIModes[mode]));
  PetscCall(Report(bench, what, &figure, "MatMult", bench->product, 0));
  PetscCall(KSPDestroy(&s->ksp));
  PetscFunctionReturn(0);
}

/* On the host, next to as many sweeps of Gauss-Seidel, by numbers of threads */
static PetscErrorCode BenchThreads(const Bench *bench, System *s)
{
  char       what[64];
  Figure     figure;
  PetscReal  relax;
  BAIBackend backend;
  PetscBool  device;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(s, BAI_MODE_ASYNC, 5));
  PetscCall(KSPBAIGetBackend(s->ksp, &backend));
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)s->A, &device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (backend == BAI_BACKEND_CUDA || (backend == BAI_BACKEND_AUTO && device)) PetscFunctionReturn(0);

  PetscCall(Print("  over MatSOR(), whose five sweeps read the matrix five times:\n"));
  PetscCall(Progress(bench, "MatSOR"));
  PetscCall(VecSet(s->x, 0));
  PetscCall(Measure(bench, NULL, Relax, s, Count(5 * bench->product), &figure));
  relax = figure.median;
  PetscCall(Report(bench, "MatSOR its 1 lits 5", &figure, "MatSOR", relax, 0));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (PetscInt t = 0; t < bench->nthreads; t++) {
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s-(5) %" PetscInt_FMT " thread%s", BAIModes[mode],
                              bench->threads[t], bench->threads[t] == 1 ? "" : "s"));
      PetscCall(Progress(bench, what));
      PetscCall(SetThreads(bench->threads[t]));
      PetscCall(CreateSolver(s, (BAIMode)mode, 5));
      PetscCall(Measure(bench, NULL, Iterate, s, Count(bench->product), &figure));
      PetscCall(Report(bench, what, &figure, "MatSOR", relax, Bytes(bench, 3)));
      PetscCall(KSPDestroy(&s->ksp));
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode BenchIterations(Bench *bench, System *s)
{
  PetscFunctionBeginUser;
  PetscCall(Print("  a global iteration over MatMult():\n"));
  PetscCall(BenchProduct(bench, s));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) PetscCall(BenchMode(bench, s, (BAIMode)mode));
  PetscCall(BenchThreads(bench, s));
  PetscFunctionReturn(0);
}
