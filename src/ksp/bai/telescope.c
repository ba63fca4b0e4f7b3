/*
   Gathered rows: a KSPBAI on fewer ranks, inside PCTELESCOPE, solves for all of them. The norms that it saw, and its
   reason or error, all learn when it is done
*/
#include "kspbai.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <petsc/private/matimpl.h> /* the function of a MatNullSpace, which cannot be asked for */
#pragma GCC diagnostic pop

/* A residual norm that somebody wants to see */
typedef struct {
  PetscInt  it;
  PetscReal rnorm;
} Norm;

/* How a solve ended */
typedef struct {
  PetscInt           its, norms;
  PetscReal          rnorm, rnorm0, ttol;
  KSPConvergedReason reason;
  int                failed; /* the last rank with an error, -1: none */
} End;

struct BAITelescope_ {
  PetscInt64  key[6];  /* what the choice depends on; */
  const char *against; /* what does not go with gathered rows, or NULL: all ranks work; */
  PetscMPIInt rank, size, workers;
  const char *why;    /* these are fewer: */
  PC          pc;     /* PCTELESCOPE, or NULL */
  KSP         worker; /* inside it, on the ranks that work; NULL on others */
  PetscErrorCode (*solve)(KSP);
  PetscErrorCode   code;       /* of that, */
  char             text[1024]; /* and of its error */
  End              end;
  PetscSegBuffer   norms;
  PetscObjectState state; /* of the matrix whose values it has */
};

/* Monitors that show the norm alone may be called when the solve is done; others may look at x, as may a user's
 * convergence test, and all ranks know more of a null space's function, of a grid and of statistics than some */
static PetscErrorCode FindAgainst(KSP ksp, Mat A, const char **against)
{
  const BAIOptions *o    = &((KSP_BAI *)ksp->data)->bai.options;
  PetscBool         sees = (PetscBool)(ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip);
  MatNullSpace      space, near;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < ksp->numbermonitors; k++) {
    void (*const monitor)(void) = (void (*)(void))ksp->monitor[k];

    sees = (PetscBool)(sees ||
                       (monitor != (void (*)(void))KSPMonitorResidual &&
                        monitor != (void (*)(void))KSPMonitorResidualDrawLG));
  }
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(MatGetNearNullSpace(A, &near));
  *against = NULL;
  if (sees) *against = "a monitor or convergence test may look at x";
  else if ((space && space->remove) || (near && near->remove)) *against = "a null space has a function";
  else if (o->partition == BAI_PARTITION_DM) *against = "blocks are boxes of the grid of all";
  else if (o->stats) *against = "all of them count";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often it was set up, which users are told, whoever did it */
static void Carry(const BAI *from, BAI *to)
{
  to->setups  = from->setups;
  to->updates = from->updates;
}

PetscErrorCode KSPBAITelescopeDestroy(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (!k->telescope) PetscFunctionReturn(PETSC_SUCCESS);
  if (k->telescope->worker) Carry((BAI *)k->telescope->worker->data, &k->bai);
  PetscCall(PCDestroy(&k->telescope->pc));
  PetscCall(PetscSegBufferDestroy(&k->telescope->norms));
  PetscCall(PetscFree(k->telescope));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error handler that keeps the words of the first error */
static PetscErrorCode KeepText(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *function,
                               PETSC_UNUSED const char *file, PetscErrorCode code, PetscErrorType type,
                               const char *text, void *t)
{
  char *kept = ((BAITelescope)t)->text;

  if (type == PETSC_ERROR_INITIAL && !kept[0] && text)
    (void)snprintf(kept, sizeof(((BAITelescope)t)->text), "%s", text);
  return code;
}

/* Set-up or solve by those that work */
static PetscErrorCode Try(BAITelescope t, PetscErrorCode (*function)(KSP), KSP worker)
{
  PetscFunctionBegin;
  t->text[0] = 0;
  PetscCall(PetscPushErrorHandler(KeepText, t));
  t->code = (*function)(worker);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of these ranks the last one that has an error, by its number among all, or -1 */
static PetscErrorCode FindFailed(const struct BAITelescope_ *t, MPI_Comm comm, int *failed)
{
  const int mine = t->code ? (int)t->rank : -1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, failed, 1, MPI_INT, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error of this rank is one of all, in the same words, and the next set-up begins anew */
static PetscErrorCode Fail(KSP ksp, int failed)
{
  const BAITelescope t    = ((KSP_BAI *)ksp->data)->telescope;
  const MPI_Comm     comm = PetscObjectComm((PetscObject)ksp);
  int                code = (int)t->code;
  char               text[sizeof(t->text)];

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(text, t->text, sizeof(text)));
  PetscCall(KSPBAITelescopeDestroy(ksp));
  PetscCallMPI(MPI_Bcast(&code, 1, MPI_INT, failed, comm));
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)sizeof(text), MPI_CHAR, failed, comm));
  SETERRQ(comm, (PetscErrorCode)code, "%s", text);
}

/* The solve of those that work. PCTELESCOPE would leave no x if it failed, and the others waiting after an error */
static PetscErrorCode Work(KSP worker)
{
  BAITelescope t = ((KSP_BAI *)worker->data)->master;

  PetscFunctionBegin;
  t->end.norms = 0;
  PetscCall(Try(t, t->solve, worker));
  t->end = (End){.its    = worker->its,
                 .norms  = t->end.norms,
                 .rnorm  = worker->rnorm,
                 .rnorm0 = worker->rnorm0,
                 .ttol   = worker->ttol,
                 .reason = worker->reason};
  PetscCall(FindFailed(t, PetscObjectComm((PetscObject)worker), &t->end.failed));
  worker->reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Keep(PETSC_UNUSED KSP worker, PetscInt it, PetscReal rnorm, void *telescope)
{
  BAITelescope t = (BAITelescope)telescope;
  Norm        *norm;

  PetscFunctionBegin;
  PetscCall(PetscSegBufferGet(t->norms, 1, &norm));
  *norm = (Norm){.it = it, .rnorm = rnorm};
  t->end.norms++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Instruct(KSP ksp, KSP worker)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data, *w = (KSP_BAI *)worker->data;

  PetscFunctionBegin;
  PetscCall(KSPBAIInstruct(ksp, worker));
  w->bai.options.gather = BAI_GATHER_NONE;
  if (KSPBAIIsWatched(ksp)) PetscCall(KSPMonitorSet(worker, Keep, k->telescope, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The KSPBAI inside. PETSc does not give every concatenated matrix the type of A */
static PetscErrorCode CreateWorker(KSP ksp, Mat A, BAITelescope t)
{
  KSP_BAI    *k = (KSP_BAI *)ksp->data, *w;
  const char *prefix;
  MatType     type;
  Mat         B;

  PetscFunctionBegin;
  PetscCall(PCTelescopeGetKSP(t->pc, &t->worker));
  if (!t->worker) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(t->worker, &B, NULL));
  PetscCall(MatGetType(A, &type));
  if (t->workers > 1) PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatPropagateSymmetryOptions(A, B));
  PetscCall(KSPSetType(t->worker, KSPBAI));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(KSPSetOptionsPrefix(t->worker, prefix)); /* for the words of errors; no options are read */
  w         = (KSP_BAI *)t->worker->data;
  w->master = t;
  Carry(&k->bai, &w->bai);
  PetscCall(BAIGetNode(&w->bai, PetscObjectComm((PetscObject)t->worker)));
  w->bai.node_rank      = k->bai.node_rank; /* so the device is that of this rank */
  t->solve              = t->worker->ops->solve;
  t->worker->ops->solve = Work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses who works */
static PetscErrorCode Create(KSP ksp, Mat A, BAITelescope t)
{
  KSP_BAI         *k    = (KSP_BAI *)ksp->data;
  const MPI_Comm   comm = PetscObjectComm((PetscObject)ksp);
  Mat              Ad, Ao;
  PetscInt         nghost;
  const PetscInt  *garray;
  PetscSubcommType type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(comm, &t->size));
  t->workers = t->size;
  if (t->against) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIGetParts((PetscObject)ksp, A, &Ad, &Ao, &nghost, &garray));
  PetscCall(BAICheckMatrix((PetscObject)ksp, A));
  PetscCall(BAIGetNode(&k->bai, comm));
  PetscCall(BAIGatherChoose(&k->bai, A, Ad, &t->workers, &type, &t->why));
  if (t->workers == t->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "%d of %d ranks work with all rows, %s\n", t->workers, t->size, t->why));
  PetscCall(KSPReset_BAIKrylov(ksp)); /* of a time when all ranks worked */
  PetscCall(BAIDropEngine(&k->bai));
  PetscCall(PetscSegBufferCreate(sizeof(Norm), 64, &t->norms));
  PetscCall(PCCreate(comm, &t->pc));
  PetscCall(PCSetType(t->pc, PCTELESCOPE));
  PetscCall(PCTelescopeSetReductionFactor(t->pc, t->size / t->workers));
  PetscCall(PCTelescopeSetSubcommType(t->pc, type));
  PetscCall(PCSetOperators(t->pc, A, A));
  PetscCall(PCSetUp(t->pc));
  PetscCall(CreateWorker(ksp, A, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers the matrix as it is now, if it is to be. Otherwise gathered is PETSC_FALSE */
PetscErrorCode KSPBAITelescopeSetUp(KSP ksp, Mat A, PetscBool *gathered)
{
  KSP_BAI         *k                                                 = (KSP_BAI *)ksp->data;
  BAI             *bai                                               = &k->bai;
  PetscInt64       key[PETSC_STATIC_ARRAY_LENGTH(k->telescope->key)] = {bai->options.gather, bai->options.backend};
  const char      *against                                           = NULL;
  MatNullSpace     space[2];
  PetscMPIInt      size;
  PetscBool        same = PETSC_FALSE;
  PetscObjectState state;
  int              work, failed;

  PetscFunctionBegin;
  *gathered = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  if (size == 1 || bai->options.gather == BAI_GATHER_NONE) {
    PetscCall(KSPBAITelescopeDestroy(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIOptionsCheckTogether(bai));
  PetscCall(BAIConvert(bai, A, &A));
  PetscCall(FindAgainst(ksp, A, &against));
  PetscCall(PetscObjectGetId((PetscObject)A, &key[2]));
  PetscCall(MatGetNonzeroState(A, &key[3]));
  PetscCall(MatGetNullSpace(A, &space[0]));
  PetscCall(MatGetNearNullSpace(A, &space[1]));
  for (int s = 0; s < 2; s++)
    if (space[s]) PetscCall(PetscObjectGetId((PetscObject)space[s], &key[4 + s]));
  if (k->telescope && k->telescope->against == against)
    PetscCall(PetscArraycmp(key, k->telescope->key, PETSC_STATIC_ARRAY_LENGTH(key), &same));
  if (!same) {
    PetscCall(KSPBAITelescopeDestroy(ksp));
    PetscCall(PetscNew(&k->telescope));
    k->telescope->against = against;
    PetscCall(Create(ksp, A, k->telescope));
    PetscCall(
      PetscArraycpy(k->telescope->key, key, PETSC_STATIC_ARRAY_LENGTH(key))); /* what failed is to be done again */
  }
  if (!k->telescope->pc) PetscFunctionReturn(PETSC_SUCCESS);
  *gathered = PETSC_TRUE;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  work = !same || state != k->telescope->state;
  PetscCall(BAIAgree(bai, PETSC_SUCCESS, &work));
  if (work && state == k->telescope->state)
    PetscCall(PetscObjectStateIncrease((PetscObject)A)); /* as on another rank */
  if (work) PetscCall(PCSetUp(k->telescope->pc));
  PetscCall(PetscObjectStateGet((PetscObject)A, &k->telescope->state));
  if (k->telescope->worker) PetscCall(Instruct(ksp, k->telescope->worker));
  if (!work) PetscFunctionReturn(PETSC_SUCCESS);
  if (k->telescope->worker) PetscCall(Try(k->telescope, KSPSetUp, k->telescope->worker));
  PetscCall(FindFailed(k->telescope, PetscObjectComm((PetscObject)ksp), &failed));
  if (failed >= 0) PetscCall(Fail(ksp, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What happens on all ranks with residual norms that somebody wants to see */
static PetscErrorCode Show(KSP ksp, PetscInt n)
{
  BAITelescope t = ((KSP_BAI *)ksp->data)->telescope;
  Norm        *norm;

  PetscFunctionBegin;
  if (t->worker) PetscCall(PetscSegBufferExtractAlloc(t->norms, &norm));
  else PetscCall(PetscMalloc1(n, &norm));
  PetscCallMPI(
    MPI_Bcast(norm, (PetscMPIInt)((size_t)n * sizeof(*norm)), MPI_BYTE, 0, PetscObjectComm((PetscObject)ksp)));
  for (PetscInt k = 0; k < n; k++) {
    ksp->its   = norm[k].it;
    ksp->rnorm = norm[k].rnorm;
    PetscCall(KSPLogResidualHistory(ksp, norm[k].rnorm));
    PetscCall(KSPMonitor(ksp, norm[k].it, norm[k].rnorm));
  }
  PetscCall(PetscFree(norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_BAITelescope(KSP ksp)
{
  BAITelescope                t = ((KSP_BAI *)ksp->data)->telescope;
  PCRichardsonConvergedReason reason;
  PetscInt                    its;
  End                         end;

  PetscFunctionBegin; /* this is how PCTELESCOPE takes a guess */
  PetscCall(
    PCApplyRichardson(t->pc, ksp->vec_rhs, ksp->vec_sol, ksp->vec_rhs, 0, 0, 0, 1, ksp->guess_zero, &its, &reason));
  end = t->end; /* the first rank is one of those that work */
  PetscCallMPI(MPI_Bcast(&end, (PetscMPIInt)sizeof(end), MPI_BYTE, 0, PetscObjectComm((PetscObject)ksp)));
  if (end.failed >= 0) PetscCall(Fail(ksp, end.failed));
  if (end.norms) PetscCall(Show(ksp, end.norms));
  ksp->its    = end.its;
  ksp->rnorm  = end.rnorm;
  ksp->rnorm0 = end.rnorm0;
  ksp->ttol   = end.ttol;
  ksp->reason = end.reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says who works; who knows how is this KSP, the one inside, or, on ranks that do not work, NULL */
PetscErrorCode KSPBAITelescopeView(KSP ksp, PetscViewer viewer, KSP *knows)
{
  const KSP_BAI     *k    = (KSP_BAI *)ksp->data;
  const BAITelescope t    = k->telescope;
  const char        *name = BAIGatherTypes[k->bai.options.gather];

  PetscFunctionBegin;
  *knows = t && t->pc ? t->worker : ksp;
  if (t && t->pc)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  gather %s: %d of %d ranks %s with all rows, %s\n", name, t->workers,
                                     t->size, t->workers == 1 ? "works" : "work", t->why));
  else if (t && k->bai.options.gather != BAI_GATHER_AUTO)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  gather %s: all ranks work, as %s\n", name,
                                     t->against ? t->against : "no two share a GPU"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
