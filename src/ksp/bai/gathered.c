/*
   A solve of KSPBAI whose rows are gathered on fewer ranks: what users see of it is the same on all ranks as without
*/
#include "kspbai.h"

/* Users may change these at any time */
static void CopyTolerances(KSP from, KSP to)
{
  to->rtol   = from->rtol;
  to->abstol = from->abstol;
  to->divtol = from->divtol;
  to->max_it = from->max_it;
  to->ttol   = from->ttol;
  to->rnorm0 = from->rnorm0;
  BAICopyMinimumIterations(from, to);
}

/* What KSPSolve_BAI() does with a residual norm, on all ranks */
static PetscErrorCode Show(KSP ksp, const BAIGatherNews *news)
{
  PetscFunctionBegin;
  if (KSPBAISeesX(ksp)) PetscCall(BAIGatherReverse((BAI *)ksp->data, ksp->vec_sol, PETSC_FALSE));
  ksp->its   = news->its;
  ksp->rnorm = news->rnorm;
  PetscCall(KSPLogResidualHistory(ksp, news->rnorm));
  PetscCall(KSPMonitor(ksp, news->its, news->rnorm));
  PetscCall((*ksp->converged)(ksp, news->its, news->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The convergence test of the ranks that work, if somebody watches */
static PetscErrorCode Ask(KSP inner, PetscInt its, PetscReal rnorm, KSPConvergedReason *reason, void *ctx)
{
  KSP            ksp  = (KSP)ctx;
  BAI           *bai  = (BAI *)ksp->data;
  BAIGatherNews  news = {.failed = -1, .its = its, .rnorm = rnorm};
  PetscErrorCode code;

  PetscFunctionBegin;
  if (KSPBAISeesX(ksp)) PetscCall(BAIGatherOffer(bai));
  if (bai->gather->workers > 1) PetscCallMPI(MPI_Barrier(bai->gather->comm)); /* what others are told of is there */
  PetscCall(BAIGatherTell(bai, &news));
  PetscCall(BAIGatherSuspend(bai));
  code = Show(ksp, &news);
  PetscCall(BAIGatherResume(bai));
  bai->gather->spoilt = (PetscBool)(code != PETSC_SUCCESS);
  PetscCall(code);
  CopyTolerances(ksp, inner);
  *reason = ksp->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solve by the ranks that work */
static PetscErrorCode Work(KSP ksp, KSP inner, BAIGatherNews *news)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  if (bai->gather->shares) PetscCall(BAIGatherPut(bai, ksp->vec_rhs, ksp->guess_zero ? NULL : ksp->vec_sol));
  if (ksp->guess_zero)
    PetscCall(VecZeroEntries(bai->gather->x)); /* not before the others have said that b is there, until when they may
                                                  still take the x of the last solve */
  CopyTolerances(ksp, inner);
  inner->normtype            = ksp->normtype;
  inner->guess_zero          = ksp->guess_zero;
  inner->errorifnotconverged = ksp->errorifnotconverged;
  inner->reason              = KSP_CONVERGED_ITERATING;
  inner->its                 = 0;
  if (KSPBAIIsWatched(ksp)) PetscCall(KSPSetConvergenceTest(inner, Ask, ksp, NULL));
  else PetscCall(KSPSetConvergenceTest(inner, ksp->converged, ksp->cnvP, NULL));
  PetscCall((*inner->ops->solve)(inner));
  PetscCall(BAIGatherOffer(bai));
  *news = (BAIGatherNews){.its    = inner->its,
                          .rnorm  = inner->rnorm,
                          .rnorm0 = inner->rnorm0,
                          .ttol   = inner->ttol,
                          .reason = inner->reason};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_BAIGathered(KSP ksp)
{
  BAI           *bai = (BAI *)ksp->data, *worker = BAIGatherWorker(bai);
  BAIGather      g    = bai->gather;
  BAIGatherNews  news = {.done = PETSC_FALSE};
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(BAIGatherSend(bai, ksp->vec_rhs, ksp->guess_zero ? NULL : ksp->vec_sol));
  g->spoilt = PETSC_FALSE;
  PetscCall(BAIGatherBegin(bai));
  if (worker) code = Work(ksp, (KSP)worker->obj, &news);
  if (g->spoilt) { /* by what users do with a residual norm, which is an error of all ranks already */
    PetscCall(BAIGatherSuspend(bai));
    PetscCall(code);
  }
  PetscCall(BAIGatherEnd(bai, code, &news));
  while (!news.done) {
    PetscCall(Show(ksp, &news));
    PetscCall(BAIGatherEnd(bai, PETSC_SUCCESS, &news));
  }
  ksp->its    = news.its;
  ksp->rnorm  = news.rnorm;
  ksp->rnorm0 = news.rnorm0;
  ksp->ttol   = news.ttol;
  ksp->reason = news.reason;
  PetscCall(BAIGatherReverse(bai, ksp->vec_sol, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
