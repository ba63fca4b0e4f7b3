static char help[] = "Threads of ranks that share cores: no more than there are cores, unless those that wait sleep; "
                     "how many there are changes no bit.\n\n";

#define _GNU_SOURCE /* sched_setaffinity() */
#include "check.h"
#include "gallery.h"
#include <omp.h>
#include <sched.h>
#include <unistd.h>

enum {
  WANTED = 4 /* threads, which have tasks enough */
};

/* The values of OMP_NUM_THREADS and OMP_WAIT_POLICY; NULL: not set */
static PetscErrorCode SetEnvironment(const char threads[], const char policy[])
{
  PetscFunctionBeginUser;
  omp_set_num_threads(threads ? atoi(threads) : WANTED);
  PetscCheck(!(threads ? setenv("OMP_NUM_THREADS", threads, 1) : unsetenv("OMP_NUM_THREADS")) &&
               !(policy ? setenv("OMP_WAIT_POLICY", policy, 1) : unsetenv("OMP_WAIT_POLICY")),
             PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank may run on so many of the cores from the first one on; returns how many these are */
static int RunOn(const cpu_set_t *all, int first, int count)
{
  cpu_set_t set;

  CPU_ZERO(&set);
  for (size_t core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, all) && first-- <= 0 && count-- > 0) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
}

/* x after some iterations, and how many threads did them on the first rank */
static PetscErrorCode Solve(MPI_Comm comm, BAIMode mode, Vec *x, int *threads)
{
  KSP       ksp;
  Mat       A;
  Vec       b;
  PetscReal number;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(comm, "fv1", 100, &A));
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 7));
  PetscCall(KSPBAISetMode(ksp, mode));
  PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(ViewedNumber((PetscObject)ksp, "backend host, ", &number));
  *threads = (int)number;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectThreads(MPI_Comm comm, int expected)
{
  Vec x;
  int threads;

  PetscFunctionBeginUser;
  PetscCall(Solve(comm, BAI_MODE_ASYNC, &x, &threads));
  PetscCall(VecDestroy(&x));
  PetscCall(Expect(threads == expected, "%d threads, not %d", threads, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks on one core: the same bits by one thread and, where those that wait sleep, by as many as are wanted */
static PetscErrorCode SameBits(BAIMode mode, int most)
{
  Vec       x, y;
  int       threads;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(SetEnvironment("4", "active"));
  PetscCall(Solve(PETSC_COMM_WORLD, mode, &x, &threads));
  PetscCall(Expect(threads == 1, "%d threads, not 1", threads));
  PetscCall(SetEnvironment("4", "PASSIVE"));
  PetscCall(Solve(PETSC_COMM_WORLD, mode, &y, &threads));
  PetscCall(Expect(threads == most, "%d threads, not %d", threads, most));
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect(equal, "the same bits by %d threads", most));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;
  cpu_set_t   all;
  int         most, each, count;
  char        text[16];

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  memset(&all, 0xff, sizeof(all)); /* launchers may have bound this rank to one of those that the system gives it */
  PetscCheck(!sched_setaffinity(0, sizeof(all), &all) && !sched_getaffinity(0, sizeof(all), &all), PETSC_COMM_SELF,
             PETSC_ERR_SYS, "sched_setaffinity()");
  omp_set_num_threads(WANTED);
  most  = omp_get_max_threads(); /* 1 without OpenMP */
  count = CPU_COUNT(&all);

  (void)RunOn(&all, 0, 1);
  if (Case("one_core")) {
    PetscCall(SetEnvironment("4", NULL));
    PetscCall(ExpectThreads(PETSC_COMM_WORLD, 1));
    PetscCall(ExpectThreads(PETSC_COMM_WORLD, 1));
  }
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++)
    if (Case("bits_%s", BAIModes[mode])) PetscCall(SameBits((BAIMode)mode, most));

  each = RunOn(&all, 0, WANTED);
  if (Case("shared_cores")) {
    PetscCall(SetEnvironment("4", "active"));
    PetscCall(ExpectThreads(PETSC_COMM_WORLD, PetscMin(most, PetscMax(1, each / size))));
    PetscCall(SetEnvironment(NULL, "active"));
    PetscCall(ExpectThreads(PETSC_COMM_WORLD, most == 1 ? 1 : PetscMax(1, each / size)));
  }
  if (Case("other_communicators") && size > 1) { /* a rank by itself cannot see the others, but launchers tell */
    PetscCall(SetEnvironment("4", "active"));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%ld", 2 * sysconf(_SC_NPROCESSORS_ONLN)));
    PetscCheck(!setenv("OMPI_COMM_WORLD_LOCAL_SIZE", text, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
    PetscCall(ExpectThreads(PETSC_COMM_SELF, 1));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%d", (int)size));
    PetscCheck(!setenv("OMPI_COMM_WORLD_LOCAL_SIZE", text, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  }

  each = PetscMin(WANTED, count / size);
  if (each) (void)RunOn(&all, rank * each, each);
  if (Case("own_cores") && each) { /* none is divided by the ranks */
    PetscCall(SetEnvironment(NULL, NULL));
    PetscCall(ExpectThreads(PETSC_COMM_WORLD, most == 1 ? 1 : each));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   test:
      suffix: host
      nsize: {{1 2 3 4}}
      output_file: output/empty.out

   # Once, though it solves twice
   test:
      suffix: info
      nsize: {{2 3}}
      args: -info :ksp -case one_core
      filter: grep -c exceed

TEST*/
