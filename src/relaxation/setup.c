/*
   Set-up of a relaxation: makes the choices that options leave open, compares them with those in use, and creates or
   renews the engine
*/
#include "../petsc/baiimpl.h"
#include <petsc/private/petscimpl.h>

/* Finds the work that a choice for this matrix requires */
static PetscErrorCode CompareChoice(const BAI *bai, const BAIParts *m, const BAIChoice *c, int *work)
{
  BAIVersion now;
  PetscBool  same = PETSC_FALSE;

  PetscFunctionBegin;
  *work = BAI_WORK_NEW;
  if (bai->relax.engine) PetscCall(PetscMemcmp(c, &bai->relax.use, sizeof(*c), &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIVersionOf((PetscObject)m->A, &now));
  *work = BAIVersionsEqual(now, bai->relax.held) ? BAI_WORK_NONE : BAI_WORK_VALUES;
  if (*work == BAI_WORK_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIScatterFits(bai, m->nghost, m->garray, &same));
  if (!same) *work = BAI_WORK_NEW;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows by -info which kernels do the global iterations, and why others do not */
static PetscErrorCode ExplainKernels(const BAI *bai)
{
  const BAIMode mode      = bai->relax.use.p.mode;
  char          text[512] = "";

  PetscFunctionBegin;
  PetscCall(BAICheckStatus(bai, BAIEngineExplain(bai->relax.engine, mode, text, sizeof(text))));
  if (text[0]) PetscCall(PetscInfo(bai->obj, "Kernels of mode %s: %s\n", BAIModes[mode], text));
  if (bai->relax.info.units)
    PetscCall(PetscInfo(bai->obj,
                        "1 replaces the diagonal entry of %" PetscInt64_FMT " rows, where it is zero or missing\n",
                        (PetscInt64)bai->relax.info.units));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates or renews the engine for this matrix, ready to iterate */
static PetscErrorCode RenewEngine(BAI *bai, const BAIParts *m, BAIChoice *choice, int *work)
{
  PetscErrorCode mine = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)m->A));
  PetscCall(MatDestroy(&bai->relax.A));
  PetscCall(MatDestroy(&bai->relax.refinement.fixed));
  bai->relax.A       = m->A;
  bai->relax.held.id = 0; /* until all ranks have succeeded */
  PetscCall(BAICheckMatrix(bai->obj, m->A));
  PetscCall(BAIFillEngine(bai, m, choice, work));
  if (*work == BAI_WORK_NEW) {
    PetscCall(BAIConnect(bai, m->A, m->nghost, m->garray));
    mine = BAITakeTurns(bai, m->A, m->nghost, m->garray);
  }
  if (mine) PetscCall(BAIDropEngine(bai)); /* on all ranks */
  PetscCall(mine);
  PetscCall(BAIVersionOf((PetscObject)m->A, &bai->relax.held));
  BAIEngineInfo(bai->relax.engine, &bai->relax.info);
  if (*work == BAI_WORK_NEW) PetscCall(ExplainKernels(bai));
  bai->relax.refinement.learnt = PETSC_FALSE;
  if (bai->relax.use.refine == BAI_REFINE_SYNC) PetscCall(BAIRefinementSetUp(bai));
  bai->relax.largest = 0.0;
  bai->relax.tau     = 1.0;
  if (BAIUsesTau(bai)) PetscCall(BAIFindTau(bai, m->A, &bai->relax.tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc works on the stream of the engine */
PetscErrorCode BAIIsOnStream(const BAI *bai, PetscBool *is)
{
  int   device;
  void *stream = NULL;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  if (!bai->relax.engine || bai->relax.use.backend != BAI_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIGetDevice(bai->node.rank, &device, &stream));
  *is = (PetscBool)(stream == bai->relax.use.p.stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the engine holds the matrix in its present state, fulfils the options and works on PETSc's stream, on this
   rank. It holds none on any rank if set-up failed on one */
PetscErrorCode BAIIsSetUp(const BAI *bai, Mat A, PetscBool *is)
{
  BAIVersion now;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  if (!bai->relax.engine || !bai->relax.held.id || !BAIVersionsEqual(now, bai->relax.given))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIOptionsEqual(bai->face, &bai->set, &bai->options, is));
  if (*is) PetscCall(BAIIsOnStream(bai, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sets up the engine for the present state of the matrix and the options. It does nothing if neither has changed; new
   values in the same pattern are stored in place; another pattern, or other options, lead to a new engine
*/
PetscErrorCode BAISetUp(BAI *bai, Mat given)
{
  const PetscObject obj = bai->obj;
  BAIParts          m;
  BAIChoice         choice;
  PetscObjectId     id;
  int               work = BAI_WORK_NONE;
  PetscErrorCode    mine;

  PetscFunctionBegin;
  bai->relax.given.id = 0; /* until set-up is complete */
  PetscCall(PetscObjectGetId((PetscObject)given, &id));
  if (id != bai->relax.seen) bai->relax.unit = BAI_UNIT_NONE; /* a finding about another matrix */
  bai->relax.seen = id;
  PetscCall(MatGetSize(given, &bai->relax.rows, NULL));
  PetscCall(MatGetOwnershipRange(given, &bai->relax.first, NULL));
  PetscCall(BAIConvert(bai, given, &m.A));
  PetscCall(BAIGetParts(obj, m.A, &m.square, &m.other, &m.nghost, &m.garray));
  PetscCall(BAILookIfCrowded(bai, m.A));
  PetscCall(BAIGetNode(bai, PetscObjectComm((PetscObject)m.A)));
  mine = BAIChoose(bai, m.square, &choice);
  if (!mine && !bai->relax.engine) bai->relax.use.backend = choice.backend; /* for error messages */
  if (!mine) mine = BAICheckReady(bai, choice.backend, choice.p.device, choice.p.stream);
  if (!mine) mine = CompareChoice(bai, &m, &choice, &work);
  PetscCall(BAIAgree(bai, mine, &work));
  if (work != BAI_WORK_NONE) {
    PetscCall(PetscLogEventBegin(BAI_SetUp, obj, m.A, 0, 0));
    mine = RenewEngine(bai, &m, &choice, &work);
    if (mine) bai->relax.held.id = 0; /* the next set-up must prepare the engine further */
    PetscCall(
      /* Also after an error on some ranks: the others would wait for them in the log */
      PetscLogEventEnd(BAI_SetUp, obj, m.A, 0, 0));
    PetscCall(mine);
    PetscCall(PetscInfo(obj, "%s of %" PetscInt64_FMT " blocks on the backend %s\n",
                        work == BAI_WORK_NEW ? "Set up" : "New values for the engine",
                        (PetscInt64)bai->relax.info.blocks, BAIBackends[bai->relax.use.backend]));
  }
  bai->relax.run = BAIIterate;
  if (bai->relax.use.refine == BAI_REFINE_SYNC) bai->relax.run = BAIRunRefined;
  else if (bai->relax.use.refine == BAI_REFINE_NONE && bai->relax.use.p.single) bai->relax.run = BAIRunRounded;
  bai->set = bai->options;
  PetscCall(BAIVersionOf((PetscObject)given, &bai->relax.given));
  PetscFunctionReturn(PETSC_SUCCESS);
}
