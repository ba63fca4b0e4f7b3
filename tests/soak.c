static char help[] =
  "Very many solves, with solvers, matrices and options that come and go: claims of convergence are true,\n\
and neither the host's nor the device's memory grows.\n\
Each rank solves systems of its own, so several ranks are several processes on one GPU.\n\
  -solves N                 : so many on each rank (400)\n\
  -seconds T                : as many as T seconds allow, then says how many, and what memory was in use\n\
  -most ROWS                : that a system has (12000)\n\
  -seed SEED                : of what is drawn (1)\n\
  -backend (auto|host|cuda) : where they are solved\n\
  -petsc                    : FGMRES with Jacobi only, which is PETSc's: what is wrong then is not this library's\n\
  -tell                     : says how many, and what memory was in use, without -seconds too\n\
  -alone                    : nobody else uses the GPU, so what is free of its memory is looked at as well\n\n";

#include "check.h"
#include "dice.h"
#include "parts/gpu.h"
#include <petsctime.h>
#include <malloc.h>

enum {
  SOLVERS = 4, /* that live side by side */
  LOOKS   = 5, /* at memory, when all of them are gone; */
  WARM    = 1  /* and before this one there is a warm-up */
};

typedef struct {
  PetscInt n;
  PCType   pc; /* PCBAI or PCBAIMG in a Krylov method, or NULL: KSPBAI */
  Mat      A;
  Vec      b, x;
  KSP      ksp;
  char     options[512];
} Solver;

typedef struct {
  const char *backend;
  PetscBool   petsc;
  PetscInt    most, solves, diverged, wrong, products; /* the last: residuals that PETSc's product made wrong */
  char        first_wrong[2048];
} Tally;

/* Bytes in use: by malloc(), and on the device by the pool of CUDA; and what is free on the device */
typedef struct {
  size_t host, device, available;
} Memory;

static PetscErrorCode GetMemory(const Tally *tally, Memory *memory)
{
  const struct mallinfo2 info  = mallinfo2();
  const char            *error = NULL;

  PetscFunctionBeginUser;
  memory->host   = info.uordblks + info.hblkhd;
  memory->device = memory->available = 0;
  if (!strcmp(tally->backend, "cuda")) error = GPUGetMemory(&memory->device, &memory->available);
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries next to the diagonal, and a line away on either side; the diagonal is larger than all of them together */
static PetscErrorCode SetValues(Dice *dice, Mat A, PetscInt n)
{
  const PetscInt line = 2 + Below(dice, 40), away[] = {-line, -1, 1, line};

  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(A));
  for (PetscInt row = 0; row < n; row++) {
    PetscReal sum = (PetscReal)0.5;

    for (int k = 0; k < 4; k++) {
      const PetscReal value = Between(dice, (PetscReal)0.1, 1);

      if (row + away[k] < 0 || row + away[k] >= n) continue;
      PetscCall(MatSetValue(A, row, row + away[k], -value, INSERT_VALUES));
      sum += value;
    }
    PetscCall(MatSetValue(A, row, row, sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSystem(Dice *dice, const Tally *tally, Solver *s)
{
  const PetscInt most[] = {8, 70, 600, 3000, 12000};

  PetscFunctionBeginUser;
  s->n = 1 + Below(dice, PetscMin(tally->most, most[OneIn(dice, 8) ? 4 : Below(dice, 4)]));
  PetscCall(MatCreate(PETSC_COMM_SELF, &s->A));
  PetscCall(MatSetSizes(s->A, s->n, s->n, s->n, s->n));
  PetscCall(MatSetType(s->A, MATAIJ));
  PetscCall(MatSetFromOptions(s->A));
  PetscCall(MatSeqAIJSetPreallocation(s->A, 5, NULL));
  PetscCall(SetValues(dice, s->A, s->n));
  PetscCall(NewSystem(s->A, &s->x, &s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySystem(Solver *s)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&s->A));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that changes what an engine holds, as options of its own for this solver */
static PetscErrorCode SetOptions(Dice *dice, const Tally *tally, Solver *s)
{
  static const char *const partition[] = {"auto", "natural", "graph"}, *const weight[] = {"none", "l1", "tau", "auto"};
  const char *const name   = s->pc ? "pc" : "ksp";
  const BAIMode     mode   = (BAIMode)Below(dice, 4);
  const PetscBool   krylov = (PetscBool)(!s->pc && OneIn(dice, 2)); /* as without options */
  const PetscBool   levels = (PetscBool)(s->pc && strcmp(s->pc, PCBAI));
  PetscOptions      options;

  PetscFunctionBeginUser;
  s->options[0] = 0;
  if (tally->petsc) PetscFunctionReturn(PETSC_SUCCESS);
#define ADD_TO(face, ...) \
  (void)snprintf(s->options + strlen(s->options), sizeof(s->options) - strlen(s->options), face __VA_ARGS__)
#define ADD(...) ADD_TO(" -%s_bai_", __VA_ARGS__)
  if (levels) {
    ADD_TO(" -pc_baimg_", "levels %d", 1 + (int)Below(dice, 8));
    ADD_TO(" -pc_baimg_", "local_iters %d", 1 + (int)Below(dice, 6));
    ADD_TO(" -pc_baimg_", "over %g", 1 + 0.1 * (double)Below(dice, 10));
    ADD_TO(" -pc_baimg_", "single %s", OneIn(dice, 2) ? "auto" : "false");
  } else ADD("backend %s", name, tally->backend);
  if (!krylov && !levels) {
    ADD("mode %s", name, BAIModes[mode]);
    ADD("block_size %d", name, OneIn(dice, 2) ? 0 : 1 + (int)Below(dice, 300));
    ADD("local_iters %d", name, 1 + (int)Below(dice, 6));
    ADD("partition %s", name, partition[Below(dice, 3)]);
    ADD("weight %s", name, weight[Below(dice, 4)]);
    if (!s->pc) ADD("precision %s", name, OneIn(dice, 4) ? "single" : "native");
    if (!s->pc) ADD("theta %d", name, OneIn(dice, 4) ? 1 : 0);
    if (!s->pc) ADD("momentum %s", name, OneIn(dice, 3) ? "0" : "0.1");
  }
#undef ADD
#undef ADD_TO
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, s->options));
  PetscCall(PetscObjectSetOptions((PetscObject)s->ksp, options));
  PetscCall(KSPSetFromOptions(s->ksp));
  if (s->pc) {
    PC pc;

    PetscCall(KSPGetPC(s->ksp, &pc));
    PetscCall(PetscObjectSetOptions((PetscObject)pc, options));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PetscObjectSetOptions((PetscObject)pc, NULL));
  }
  PetscCall(PetscObjectSetOptions((PetscObject)s->ksp, NULL));
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Dice *dice, const Tally *tally, Solver *s)
{
  PetscFunctionBeginUser;
  s->pc = tally->petsc ? PCJACOBI : OneIn(dice, 2) ? NULL : OneIn(dice, 2) ? PCBAI : PCBAIMG;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &s->ksp));
  PetscCall(KSPSetType(s->ksp, s->pc ? KSPFGMRES : KSPBAI));
  if (s->pc) {
    PC pc;

    PetscCall(KSPGetPC(s->ksp, &pc));
    PetscCall(PCSetType(pc, s->pc));
  }
  PetscCall(KSPSetTolerances(s->ksp, PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-3 : (PetscReal)1e-6, PETSC_DEFAULT,
                             PETSC_DEFAULT, 20000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySolver(Solver *s)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(DestroySystem(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A residual norm is within the tolerance */
static PetscErrorCode IsSmall(const Solver *s, PetscReal norm, PetscBool *small)
{
  PetscReal rtol;

  PetscFunctionBeginUser;
  PetscCall(KSPGetTolerances(s->ksp, &rtol, NULL, NULL, NULL));
  *small = (PetscBool)(norm <= (PetscReal)1.01 * rtol * PetscSqrtReal((PetscReal)s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve of one of the solvers, before which something about it may change */
static PetscErrorCode Solve(Dice *dice, Solver *s, Tally *tally)
{
  PetscBool          right = PETSC_FALSE;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  if (s->ksp && OneIn(dice, 3)) PetscCall(DestroySolver(s));
  if (!s->ksp) {
    PetscCall(CreateSolver(dice, tally, s));
    PetscCall(CreateSystem(dice, tally, s));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
    PetscCall(SetOptions(dice, tally, s));
  } else if (OneIn(dice, 3)) { /* another system, mostly of another size */
    PetscCall(KSPReset(s->ksp));
    PetscCall(DestroySystem(s));
    PetscCall(CreateSystem(dice, tally, s));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  } else if (OneIn(dice, 2)) {
    PetscCall(MatShift(s->A, Between(dice, 0, (PetscReal)0.1)));
  }
  if (OneIn(dice, 3)) PetscCall(SetOptions(dice, tally, s));
  PetscCall(KSPSetInitialGuessNonzero(s->ksp, OneIn(dice, 4)));
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscCall(TrueResidualNorm(s->A, s->b, s->x, &norm));
  PetscCall(IsSmall(s, norm, &right));
  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  tally->solves++;
  if (reason < 0) tally->diverged++;
  if (reason >= 0 && !right) {
    PetscReal again = 0, by_entries = 0, claimed = 0;

    PetscCall(ResidualNormByEntries(s->A, s->b, s->x, &by_entries));
    PetscCall(IsSmall(s, by_entries, &right));
    if (right && !s->pc) { /* KSPBAI, which has products of its own */
      tally->products++;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (tally->wrong++) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(TrueResidualNorm(s->A, s->b, s->x, &again));
    PetscCall(KSPGetResidualNorm(s->ksp, &claimed));
    (void)snprintf(tally->first_wrong, sizeof(tally->first_wrong),
                   "solve %" PetscInt_FMT " of %" PetscInt_FMT
                   " rows with%s ends by %s: a residual norm of %g is claimed, it is %g, by another product %g, "
                   "entry by entry %g",
                   tally->solves, s->n, s->options, KSPConvergedReasons[reason], (double)claimed, (double)norm,
                   (double)again, (double)by_entries);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Soak(PetscInt solves, PetscReal seconds, PetscBool timed, PetscInt seed, PetscInt most,
                           const char backend[], PetscBool petsc, PetscBool alone, PetscBool tell)
{
  Dice            dice  = {.state = (uint64_t)seed};
  Tally           tally = {.most = most, .backend = backend, .petsc = petsc};
  Solver          s[SOLVERS];
  Memory          memory[LOOKS];
  PetscLogDouble  start, now;
  PetscMPIInt     size;
  const PetscReal slack = 5e5; /* bytes */
  PetscReal       least = PETSC_MAX_REAL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMemzero(s, sizeof(s)));
  PetscCall(PetscTime(&start));
  for (int look = 0; look < LOOKS; look++) {
    PetscBool more = PETSC_TRUE;

    while (more) {
      PetscCall(Solve(&dice, &s[Below(&dice, SOLVERS)], &tally));
      PetscCall(PetscTime(&now));
      more = (PetscBool)(timed ? now - start < seconds * (look + 1) / LOOKS
                               : tally.solves < solves * (look + 1) / LOOKS);
    }
    for (int k = 0; k < SOLVERS; k++) PetscCall(DestroySolver(&s[k]));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(GetMemory(&tally, &memory[look]));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    if (tell)
      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%" PetscInt_FMT
                            " solves, %.0f s: %zu bytes in use on the host, %zu on the device, where %zu MB are free\n",
                            tally.solves, now - start, memory[look].host, memory[look].device,
                            memory[look].available >> 20));
  }
  if (tell && tally.products)
    PetscCall(
      PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " residuals were wrong by PETSc's product\n", tally.products));
  PetscCall(Expect(!tally.wrong, "%" PetscInt_FMT " of %" PetscInt_FMT " solves are wrong, first %s", tally.wrong,
                   tally.solves, tally.first_wrong));
  PetscCall(Expect(tally.diverged <= 2 + tally.solves / 100, "%" PetscInt_FMT " of %" PetscInt_FMT " solves diverge",
                   tally.diverged, tally.solves));
  for (int look = WARM + 1; look < LOOKS; look++) {
    PetscReal grown = (PetscReal)memory[look].host - (PetscReal)memory[look - 1].host;

    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &grown, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    least = PetscMin(least, grown);
    PetscCall(Expect(memory[look].device <= memory[WARM].device, "device memory does not grow: %zu bytes, then %zu",
                     memory[WARM].device, memory[look].device));
    if (alone)
      PetscCall(Expect(memory[look].available + ((size_t)size << 26) >= memory[WARM].available,
                       "free device memory does not shrink: %zu bytes, then %zu", memory[WARM].available,
                       memory[look].available));
  }
  /* what solves lose they lose between all looks; libraries are loaded, and MPI makes room, now and then */
  PetscCall(Expect(least <= slack, "host memory grows by %g bytes and more from each look to the next", (double)least));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    solves = 400, seed = 1, most = 12000;
  PetscReal   seconds = 0;
  PetscBool   timed, petsc = PETSC_FALSE, alone = PETSC_FALSE, tell = PETSC_FALSE;
  PetscMPIInt rank;
  char        backend[16] = "auto";

  PetscFunctionBeginUser;
  (void)setenv("CUDA_MODULE_LOADING", "EAGER",
               0); /* else each kernel takes memory of the host when it is launched for the first time */
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, &timed));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-petsc", &petsc, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-alone", &alone, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-tell", &tell, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (Case("soak"))
    PetscCall(Soak(solves, seconds, timed, seed + rank, most, backend, petsc, alone, (PetscBool)(timed || tell)));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 6
      test:
         suffix: host
         args: -backend host
      test:
         suffix: cuda
         requires: baicuda
         nsize: {{1 3}}
         args: -backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -backend cuda -mat_type aijcusparse

TEST*/
