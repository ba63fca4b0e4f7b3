/*
   While rows are gathered: what the ranks that work tell the others, which wait, and errors that become those of all
   ranks
*/
#include "gather.h"
#include <petsc/private/petscimpl.h>
#include <sched.h>
#include <time.h>

/* An error handler that keeps the words of the first error */
static PetscErrorCode Keep(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *function,
                           PETSC_UNUSED const char *file, PetscErrorCode code, PetscErrorType type, const char *text,
                           void *g)
{
  char *kept = ((BAIGather)g)->text;

  if (type == PETSC_ERROR_INITIAL && !kept[0] && text) (void)snprintf(kept, sizeof(((BAIGather)g)->text), "%s", text);
  return code;
}

/* From here on errors of the ranks that work are kept for all */
PetscErrorCode BAIGatherBegin(BAI *bai)
{
  PetscFunctionBegin;
  bai->gather->text[0] = 0;
  PetscCall(BAIGatherResume(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors are what they were before BAIGatherBegin(), until BAIGatherResume() */
PetscErrorCode BAIGatherSuspend(BAI *bai)
{
  PetscFunctionBegin;
  if (bai->gather->inner) PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIGatherResume(BAI *bai)
{
  PetscFunctionBegin;
  if (bai->gather->inner) PetscCall(PetscPushErrorHandler(Keep, bai->gather));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits in MPI: at first by asking again and again, as a small system is solved in no time, then by sleeping for a part
 * of the time that it has taken so far */
static PetscErrorCode Wait(MPI_Request *request)
{
  const double eager = 1e-3, part = 1. / 16, longest = 1e-3, start = MPI_Wtime();
  int          done;

  PetscFunctionBegin;
  while (PETSC_TRUE) {
    double passed;

    PetscCallMPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done) break;
    passed = MPI_Wtime() - start;
    if (passed < eager) (void)sched_yield();
    else {
      const struct timespec pause = {.tv_nsec = (long)(1e9 * PetscMin(longest, part * passed))};

      (void)nanosleep(&pause, NULL);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks get what the first one says. It always works */
PetscErrorCode BAIGatherTell(BAI *bai, BAIGatherNews *news)
{
  MPI_Request request;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Ibcast(news, (PetscMPIInt)sizeof(*news), MPI_BYTE, 0, PetscObjectComm(bai->obj), &request));
  PetscCall(Wait(&request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the ranks that work has an error, or -1 */
static PetscErrorCode FindFailed(BAI *bai, PetscErrorCode code, PetscMPIInt *failed)
{
  BAIGather   g = bai->gather;
  PetscMPIInt rank, mine;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(bai->obj), &rank));
  mine    = code ? rank : -1;
  *failed = mine;
  if (g->workers > 1) PetscCallMPI(MPI_Allreduce(&mine, failed, 1, MPI_INT, MPI_MAX, g->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work is done, or has failed, which then is an error of all ranks, in its own words. The first rank says how it
 * went; until it does, others may get other news */
PetscErrorCode BAIGatherEnd(BAI *bai, PetscErrorCode code, BAIGatherNews *news)
{
  BAIGather g       = bai->gather;
  int       because = (int)code;

  PetscFunctionBegin;
  PetscCall(BAIGatherSuspend(bai));
  if (g->inner) {
    PetscCall(FindFailed(bai, code, &news->failed));
    news->done = PETSC_TRUE;
  }
  PetscCall(BAIGatherTell(bai, news));
  if (!news->done || news->failed < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&because, 1, MPI_INT, news->failed, PetscObjectComm(bai->obj)));
  PetscCallMPI(MPI_Bcast(g->text, (PetscMPIInt)sizeof(g->text), MPI_CHAR, news->failed, PetscObjectComm(bai->obj)));
  SETERRQ(PetscObjectComm(bai->obj), (PetscErrorCode)because, "%s", g->text);
}
