static char help[] =
  "Exchange of x between ranks, straight into the others' memory: where blocks wait, the same is read as after a\n\
VecScatter; where they do not, it converges.\n\n\
  -dk: ranks must be connected, as on the host; ranks that share a GPU are not\n\n";

#include "check.h"
#include "gallery.h"
#include <dirent.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static PetscErrorCode CreateKSP(Mat A, BAIMode mode, BAIExchange exchange, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPBAISetBlockSize(*ksp, 16));
  PetscCall(KSPBAISetMomentum(*ksp, 0));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscCall(SetOption((PetscObject)*ksp, "exchange", "%s", BAIExchanges[exchange]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On several ranks the view names the exchange of auto, and dk is there where it must be */
static PetscErrorCode ExpectExchange(PetscObject obj)
{
  PetscMPIInt size;
  PetscBool   must = PETSC_FALSE, dk, scatter;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dk", &must, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHas(obj, "exchange of x between ranks: dk", &dk));
  PetscCall(ViewHas(obj, "exchange of x between ranks: scatter", &scatter));
  PetscCall(Expect((size > 1) == (dk || scatter) && (!must || size == 1 || dk), "the view says dk %d, scatter %d", dk,
                   scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may change between the two solves that are compared */
typedef PetscErrorCode (*Change)(KSP);

static PetscErrorCode Plain(PETSC_UNUSED KSP ksp)
{
  return PETSC_SUCCESS;
}

static PetscErrorCode Momentum(KSP ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPBAISetMomentum(ksp, 0.3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Single(KSP ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Graph(KSP ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_GRAPH));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Weight(KSP ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPBAISetWeight(ksp, BAI_WEIGHT_TAU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  Change      change;
} changes[] = {
  {"plain",    Plain   },
  {"momentum", Momentum},
  {"single",   Single  },
  {"graph",    Graph   },
  {"weight",   Weight  }
};

static const BAIExchange exchanges[] = {BAI_EXCHANGE_SCATTER, BAI_EXCHANGE_AUTO};

/* Each rank's x, from a guess that is zero or not, with a scatter and with auto: the same bits, after so many
 * iterations or at convergence */
static PetscErrorCode TestSame(Mat A, BAIMode mode, Change change, PetscInt max_it)
{
  Vec       b, x[2];
  KSP       ksp;
  PetscInt  its[2];
  PetscReal norm[2];
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  for (int guess = 0; guess < 2; guess++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(VecSet(b, 1));
      PetscCall(VecSet(x[k], 0.25));
      PetscCall(CreateKSP(A, mode, exchanges[k], &ksp));
      PetscCall(change(ksp));
      PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
      PetscCall(KSPSetTolerances(ksp, max_it ? 1e-30 : 1e-6, 1e-300, PETSC_DEFAULT, max_it ? max_it : 5000));
      for (int solve = 0; solve < 2; solve++)
        PetscCall(KSPSolve(ksp, b, x[k])); /* the second one after another's exchanges */
      PetscCall(KSPGetIterationNumber(ksp, &its[k]));
      PetscCall(KSPGetResidualNorm(ksp, &norm[k]));
      if (k) PetscCall(ExpectExchange((PetscObject)ksp));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecEqual(x[0], x[1], &same));
    PetscCall(Expect(same && its[0] == its[1] && norm[0] == norm[1], "%d iterations to %g, with a scatter %d to %g",
                     (int)its[1], (double)norm[1], (int)its[0], (double)norm[0]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve in a mode that need not repeat: its claim is true, whoever begins late */
static PetscErrorCode TestConverges(Mat A, BAIMode mode, BAIExchange exchange, Change change, PetscBool late)
{
  KSP         ksp;
  Vec         b, x;
  PetscReal   rnorm;
  PetscBool   is;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(CreateKSP(A, mode, exchange, &ksp));
  PetscCall(change(ksp));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  for (int solve = 0; solve < 3; solve++) {
    if (late && rank == solve) PetscCall(PetscSleep(0.2));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is, "solve %d converges, residual norm %g", solve, (double)rnorm));
  }
  if (exchange == BAI_EXCHANGE_AUTO) PetscCall(ExpectExchange((PetscObject)ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Doze(PETSC_UNUSED int signal)
{
  const struct timespec pause = {.tv_nsec = 9000000};

  (void)nanosleep(&pause, NULL);
}

/* This process sleeps for 9 ms whenever it has worked for one; or no longer */
static PetscErrorCode SlowDown(PetscBool slow)
{
  const struct itimerval now  = {.it_interval = {.tv_usec = slow ? 1000 : 0}, .it_value = {.tv_usec = slow ? 1000 : 0}};
  struct sigaction       doze = {.sa_handler = Doze, .sa_flags = SA_RESTART};

  PetscFunctionBeginUser;
  PetscCheck(!sigaction(SIGPROF, &doze, NULL) && !setitimer(ITIMER_PROF, &now, NULL), PETSC_COMM_SELF, PETSC_ERR_SYS,
             "setitimer() failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank is ten times slower than the others */
static PetscErrorCode TestSlow(Mat A, BAIMode mode, BAIExchange exchange, PetscMPIInt slow)
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == slow) PetscCall(SlowDown(PETSC_TRUE));
  PetscCall(TestConverges(A, mode, exchange, Plain, PETSC_FALSE));
  if (rank == slow) PetscCall(SlowDown(PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tridiagonal matrix; without its lower part, ranks read only from those after them, and without both from none. The
 * last rank has all rows but few */
static PetscErrorCode CreateLine(PetscBool lower, PetscBool upper, PetscBool few, Mat *A)
{
  PetscInt    first, last, n = few ? 4 : 100, N;
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (few && rank == size - 1) n = 1000;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetSize(*A, &N, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscCall(MatSetValue(*A, i, i, 2.5, INSERT_VALUES));
    if (lower && i) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (upper && i < N - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAI in all ways in which it is called: PCApply(), and below Richardson from a guess */
static PetscErrorCode TestSmoother(BAIMode mode)
{
  Mat        A;
  Vec        b, x[2];
  PetscBool  same;
  BAIBackend backend = BAI_BACKEND_AUTO;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-ksp_bai_backend", BAIBackends, (PetscEnum *)&backend, NULL));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 25, &A));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecSet(b, 1));
  for (PetscInt its = 1; its <= 5; its += 2) {
    for (int k = 0; k < 2; k++) {
      KSP ksp;
      PC  pc;

      PetscCall(NewKSP(A, KSPRICHARDSON, &ksp));
      PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
      PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
      PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 4));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCBAI));
      PetscCall(PCBAISetBlockSize(pc, 16));
      PetscCall(PCBAISetIterations(pc, its));
      PetscCall(KSPSetFromOptions(ksp));
      PetscCall(PCBAISetBackend(pc, backend));
      PetscCall(PCBAISetMode(pc, mode));
      PetscCall(SetOption((PetscObject)pc, "exchange", "%s", BAIExchanges[exchanges[k]]));
      PetscCall(VecSet(x[k], 0));
      PetscCall(KSPSolve(ksp, b, x[k]));
      PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
      PetscCall(KSPSolve(ksp, b, x[k]));
      PetscCall(PCApply(pc, x[k], b));
      PetscCall(VecCopy(b, x[k]));
      PetscCall(VecSet(b, 1));
      if (k) PetscCall(ExpectExchange((PetscObject)pc));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecEqual(x[0], x[1], &same));
    PetscCall(Expect(same, "%d global iterations at a time have the bits that they have with a scatter", (int)its));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountIterations(MPI_Comm comm, const char matrix[], PetscInt n, BAIExchange exchange,
                                      Change change, PetscInt *its)
{
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(comm, matrix, n, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(CreateKSP(A, BAI_MODE_COLOR, exchange, &ksp));
  PetscCall(change(ksp));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = 0;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of a host take turns together, so mode color takes about the iterations that it takes on one rank */
static PetscErrorCode TestTurns(const char matrix[], PetscInt n, BAIExchange exchange)
{
  PetscInt one, its;

  PetscFunctionBeginUser;
  PetscCall(CountIterations(PETSC_COMM_SELF, matrix, n, exchange, Plain, &one));
  PetscCall(CountIterations(PETSC_COMM_WORLD, matrix, n, exchange, Plain, &its));
  PetscCall(Expect(one > 0 && its > 0 && PetscAbsInt(its - one) <= PetscMax(2, one / 20),
                   "%d iterations, %d on one rank", (int)its, (int)one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of /dev/shm that this process made */
static PetscErrorCode CountShared(int *count)
{
  char           name[64];
  DIR           *dir = opendir("/dev/shm");
  struct dirent *entry;

  PetscFunctionBeginUser;
  *count = 0;
  PetscCall(PetscSNPrintf(name, sizeof(name), "petscbai-%ld-", (long)getpid()));
  while (dir && (entry = readdir(dir))) *count += !strncmp(entry->d_name, name, strlen(name));
  if (dir) (void)closedir(dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solvers come and go, two at a time, get new values and another pattern, and leave nothing behind */
static PetscErrorCode TestLife(void)
{
  Mat A[2];
  Vec b, x;
  int shared;

  PetscFunctionBeginUser;
  PetscCall(CreateLine(PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, &A[0]));
  PetscCall(CreateLine(PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, &A[1]));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(VecSet(b, 1));
  for (int life = 0; life < 8; life++) {
    KSP ksp[2];

    for (int k = 0; k < 2; k++)
      PetscCall(CreateKSP(A[k], k ? BAI_MODE_SYNC : BAI_MODE_ASYNC, BAI_EXCHANGE_AUTO, &ksp[k]));
    for (int solve = 0; solve < 4; solve++) {
      KSP       now = ksp[(solve + life) % 2];
      PetscReal rnorm;
      PetscBool is;

      if (solve == 2) PetscCall(KSPSetOperators(now, A[life % 2], A[life % 2]));
      if (solve == 3) PetscCall(MatScale(A[0], 1.25));
      if (life % 3 == 2) PetscCall(KSPReset(now));
      if (life % 3 == 2) PetscCall(KSPSetOperators(now, A[solve % 2], A[solve % 2]));
      PetscCall(KSPSolve(now, b, x));
      PetscCall(IsConverged(now, &rnorm, &is));
      PetscCall(Expect(is, "life %d, solve %d converges, residual norm %g", life, solve, (double)rnorm));
    }
    for (int k = 0; k < 2; k++) PetscCall(KSPDestroy(&ksp[(k + life) % 2]));
  }
  PetscCall(CountShared(&shared));
  PetscCall(Expect(!shared, "%d names of shared memory are left", shared));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatDestroy(&A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix in all modes: changed says whether with what may change between solves, solved whether to the end */
static PetscErrorCode TestMatrix(const char matrix[], PetscInt n, PetscBool changed, PetscBool solved)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
      if (changed && Case("same_%s_%s%d_%s", BAIModes[mode], matrix, (int)n, changes[k].name))
        PetscCall(TestSame(A, (BAIMode)mode, changes[k].change, 9));
    }
    if (solved && Case("same_%s_%s%d_converged", BAIModes[mode], matrix, (int)n))
      PetscCall(TestSame(A, (BAIMode)mode, Plain, 0));
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_LAUNCH; mode++) {
    if (Case("free_%s_%s%d", BAIModes[mode], matrix, (int)n))
      PetscCall(TestConverges(A, (BAIMode)mode, BAI_EXCHANGE_AUTO, Plain, PETSC_FALSE));
  }
  if (Case("amc_%s%d", matrix, (int)n)) {
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++)
      PetscCall(TestConverges(A, (BAIMode)mode, BAI_EXCHANGE_AMC, Plain, PETSC_TRUE));
  }
  if (Case("single_%s%d", matrix, (int)n))
    PetscCall(TestConverges(A, BAI_MODE_ASYNC, BAI_EXCHANGE_AUTO, Single, PETSC_TRUE));
  if (Case("late_%s%d", matrix, (int)n))
    PetscCall(TestConverges(A, BAI_MODE_ASYNC, BAI_EXCHANGE_AUTO, Plain, PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in a line, which read from the rank before, that behind, or both */
static PetscErrorCode TestLines(void)
{
  Mat A;

  PetscFunctionBeginUser;
  for (int line = 0; line < 8; line++) {
    const PetscBool lower = (PetscBool)(line & 1), upper = (PetscBool)(line >> 1 & 1), few = (PetscBool)(line >> 2);

    PetscCall(CreateLine(lower, upper, few, &A));
    for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
      if (Case("line_%s%s%s_%s", lower ? "lower" : "", upper ? "upper" : "", few ? "few" : "", BAIModes[mode]))
        PetscCall(TestSame(A, (BAIMode)mode, Plain, 0));
    }
    if (Case("line_%s%s%s_async", lower ? "lower" : "", upper ? "upper" : "", few ? "few" : ""))
      PetscCall(TestConverges(A, BAI_MODE_ASYNC, BAI_EXCHANGE_AUTO, Plain, PETSC_TRUE));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv1",       20 },
    {"laplace3d", 9  },
    {"trefethen", 300},
    {"trefethen", 2  },
    {"laplace3d", 24 }  /* enough rows that ranks do not wait for each other in every iteration */
  };
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++)
    PetscCall(TestMatrix(matrices[m].name, matrices[m].n, (PetscBool)(m < 2), (PetscBool)(m < 4)));
  PetscCall(TestLines());
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("smoother_%s", BAIModes[mode])) PetscCall(TestSmoother((BAIMode)mode));
  }
  for (int way = 0; way < 2; way++) {
    const BAIExchange exchange = way ? BAI_EXCHANGE_SCATTER : BAI_EXCHANGE_AUTO;

    if (Case("turns_%s_laplace2d", BAIExchanges[exchange])) PetscCall(TestTurns("laplace2d", 40, exchange));
    if (Case("turns_%s_laplace3d", BAIExchanges[exchange])) PetscCall(TestTurns("laplace3d", 16, exchange));
    if (Case("turns_%s_helmholtz", BAIExchanges[exchange])) PetscCall(TestTurns("helmholtz", 40, exchange));
  }
  if (Case("slow_fv1")) {
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 20, &A));
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_SYNC; mode++)
      PetscCall(TestSlow(A, (BAIMode)mode, BAI_EXCHANGE_AUTO, mode % 2));
    PetscCall(TestSlow(A, BAI_MODE_ASYNC, BAI_EXCHANGE_AMC, 0));
    PetscCall(MatDestroy(&A));
  }
  if (Case("slow_pace")) { /* enough rows that the others do more iterations meanwhile */
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d", 24, &A));
    PetscCall(MatShift(A, 2));
    PetscCall(TestSlow(A, BAI_MODE_ASYNC, BAI_EXCHANGE_AUTO, 0));
    PetscCall(MatDestroy(&A));
  }
  if (Case("asked")) { /* for dk and nothing else, which on the host can be */
    PetscBool must = PETSC_FALSE;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-dk", &must, NULL));
    PetscCall(CreateLine(PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, &A));
    PetscCall(TestConverges(A, BAI_MODE_ASYNC, must ? BAI_EXCHANGE_DK : BAI_EXCHANGE_AUTO, Plain, PETSC_FALSE));
    PetscCall(MatDestroy(&A));
  }
  if (Case("life")) PetscCall(TestLife());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3}}
      timeoutfactor: 4
      test:
         suffix: host
         args: -dk 1

   # a part of it: on several GPUs ranks are connected; those that share one are not, and exchange slowly
   testset:
      output_file: output/empty.out
      nsize: {{1 2}}
      timeoutfactor: 4
      args: -case \
            {{same_sync_fv120_plain,same_color_laplace3d9_plain,free_async_laplace3d24 \
              late_laplace3d24,single_laplace3d9,line_lower_sync,smoother_color,slow_fv1,life}}
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
