/* The ranks of a node, its cores and threads, and agreement of all ranks */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "baiimpl.h"
#include <limits.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

/* Gets the number of ranks that the launcher has started on this node, or 0 if it does not tell. Ranks outside the
   object's communicator work too, or spin in MPI meanwhile */
static PetscErrorCode GetStarted(PetscMPIInt *started)
{
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};
  char                     text[16];
  PetscBool                set = PETSC_FALSE;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names) && !set; k++)
    PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, names[k], text, sizeof(text), &set));
  *started = set ? atoi(text) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the cores of this rank: those that this process may run on, or if OpenMP has bound this thread to one of its
   places, those of all places. A core that several ranks may run on is shared equally */
static PetscErrorCode GetCores(MPI_Comm node, PetscMPIInt size, double *cores)
{
  const int   places = omp_get_num_places();
  int         mine[CPU_SETSIZE], ranks[CPU_SETSIZE];
  PetscMPIInt started = 0;
  cpu_set_t   set;

  PetscFunctionBegin;
  CPU_ZERO(&set);
  /* the system has more cores than CPU_SETSIZE */
  if (!places && sched_getaffinity(0, sizeof(set), &set)) CPU_ZERO(&set);
  for (int place = 0; place < places; place++) {
    const int n = omp_get_place_num_procs(place);
    int      *core;

    PetscCall(PetscMalloc1(n, &core));
    omp_get_place_proc_ids(place, core);
    for (int k = 0; k < n; k++) CPU_SET((size_t)core[k], &set);
    PetscCall(PetscFree(core));
  }
  for (int core = 0; core < CPU_SETSIZE; core++) mine[core] = CPU_ISSET((size_t)core, &set) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(mine, ranks, CPU_SETSIZE, MPI_INT, MPI_SUM, node));
  *cores = 0;
  for (int core = 0; core < CPU_SETSIZE; core++)
    if (mine[core]) *cores += 1.0 / ranks[core];
  *cores *= 1 + PETSC_MACHINE_EPSILON * CPU_SETSIZE; /* so that three thirds of a core are a whole one */
  if (*cores == 0) *cores = (double)omp_get_num_procs() / size;
  PetscCall(GetStarted(&started));
  if (started > size) *cores = PetscMin(*cores, (double)sysconf(_SC_NPROCESSORS_ONLN) / started);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds bai->node, the ranks of comm on this node and the cores of this rank, at the first call, which is collective on
   comm */
PetscErrorCode BAIGetNode(BAI *bai, MPI_Comm comm)
{
  PetscShmComm shared; /* which PETSc keeps for the next object */
  MPI_Comm     node;

  PetscFunctionBegin;
  if (bai->node.size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscShmCommGet(comm, &shared));
  PetscCall(PetscShmCommGetMpiShmComm(shared, &node));
  PetscCallMPI(MPI_Comm_rank(node, &bai->node.rank));
  PetscCallMPI(MPI_Comm_size(node, &bai->node.size));
  PetscCall(GetCores(node, bai->node.size, &bai->node.cores));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all ranks can use the exchange named what, as status is no error on any; -info shows the reason if rank 0
   cannot. Collective */
PetscErrorCode BAIAllCan(const BAI *bai, BAIStatus status, const char what[], PetscBool *can)
{
  int failed = status.code ? 1 : 0;

  PetscFunctionBegin;
  if (failed) PetscCall(PetscInfo(bai->obj, "Exchange %s is not possible: %s %s\n", what, status.what, status.why));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm(bai->obj)));
  *can = (PetscBool)!failed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Finds the number of threads of this rank: OMP_NUM_THREADS, or one for each of its cores. There are more threads than
   cores only if OMP_WAIT_POLICY makes waiting threads sleep; otherwise they would spin for milliseconds on cores that
   other ranks need, as OpenMP knows only the threads of its own process
*/
PetscErrorCode BAIGetThreads(const BAI *bai, int *threads)
{
  const double     cores = PetscMin(bai->node.cores, omp_get_num_procs());
  static PetscBool told  = PETSC_FALSE; /* so that only one object warns */
  char             text[16];
  PetscBool        set, sleep = PETSC_FALSE;
  int              wanted;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_NUM_THREADS", text, sizeof(text), &set));
  *threads = PetscMax(1, (int)cores);
  wanted   = set ? omp_get_max_threads() : *threads;
  if (wanted > cores) {
    PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_WAIT_POLICY", text, sizeof(text), &set));
    if (set) PetscCall(PetscStrcasecmp(text, "passive", &sleep));
  }
  if (wanted <= cores || sleep) *threads = wanted;
  if (wanted <= cores || told) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(bai->obj,
                      "Ranks x threads exceed the cores: this rank has %.3g of them, and runs %d of %d threads\n",
                      cores, *threads, wanted));
  told = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Fails on all ranks if any rank fails: with mine, or on ranks without an error with one that names the first failed
   rank. Otherwise most, unless it is NULL, becomes the maximum over all ranks
*/
PetscErrorCode BAIAgree(const BAI *bai, PetscErrorCode mine, int *most)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  PetscMPIInt    rank, size;
  struct {
    int value, rank;
  } in, out;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  in.value = mine ? INT_MAX : most ? *most : 0;
  in.rank  = rank;
  out      = in;
  if (size > 1) PetscCallMPI(MPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MAXLOC, comm));
  PetscCall(mine);
  PetscCheck(out.value != INT_MAX, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Block-asynchronous iteration failed on rank %d of %d, whose error message says why", out.rank, size);
  if (most) *most = out.value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
