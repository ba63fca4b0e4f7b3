/*
   The transposed operator of a PC: a second BAI has the transposed matrix and does the transposed iterations. It is
   made at the first call, follows new values, and is kept.

   With S the damping of the rows over the diagonal, the local sweeps in block J are W_J = sum_k (I - S A_JJ)^k S, so
   sweeps with A^T and the same S are the transpose. Global iterations from zero are a polynomial of W A times W, whose
   transpose is the polynomial of W^T A^T times W^T, or, if blocks take turns, the same updates in reverse order. The
   choices for A (blocks, damping, turns and weights) are copied for A^T
*/
#include "../multigrid/hierarchy.h"

/* Makes At the transpose of A, unless it is that of A with these values already; of is the version of A that At is
   for */
PetscErrorCode BAITranspose(const BAI *bai, Mat A, BAIVersion *of, Mat *At)
{
  PetscBool others;

  PetscFunctionBegin;
  PetscCall(BAITakeValues(bai, A, (PetscBool) !*At, of, &others));
  if (!others) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(At));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, At));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the BAI for the transpose of A, of type aij, which becomes its aij */
static PetscErrorCode GetTransposed(BAI *bai, Mat A, BAI **transposed)
{
  BAI *t = bai->transposed;

  PetscFunctionBegin;
  if (!t) {
    PetscCall(PetscNew(&t));
    PetscCall(BAIInitialize(bai->obj, bai->face, t));
    t->origin       = bai;
    bai->transposed = t;
  }
  PetscCall(BAITranspose(t, A, &t->of_aij, &t->aij));
  *transposed = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up an engine for the transpose of the engine's matrix, with the same blocks, damping and turns */
PetscErrorCode BAISetUpTransposed(BAI *bai, BAI **transposed)
{
  const BAIParameters *p = &bai->relax.use.p;
  BAI                 *t = bai->transposed;

  PetscFunctionBegin;
  if (!t || !t->relax.engine || t->origin_setups != bai->relax.setups || t->origin_updates != bai->relax.updates) {
    PetscCall(GetTransposed(bai, bai->relax.A, &t));
    if (t->origin_setups != bai->relax.setups) PetscCall(BAIDropEngine(t));
    t->options             = bai->options;
    t->options.backend     = bai->relax.use.backend;
    t->options.mode        = p->mode;
    t->options.partition   = bai->relax.use.partition;
    t->options.block_size  = bai->relax.use.block_size;
    t->options.weight      = p->l1 ? BAI_WEIGHT_L1 : BAI_WEIGHT_NONE;
    t->options.local_omega = p->local_omega;
    PetscCall(BAISetUp(t, t->aij));
    t->origin_setups  = bai->relax.setups;
    t->origin_updates = bai->relax.updates;
  }
  *transposed = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Attaches the near null space of A to At so that its P is the conjugate of the P of A */
static PetscErrorCode SetNearNullSpace(Mat A, Mat At)
{
  MatNullSpace space, conjugates;
  PetscBool    constant;
  PetscInt     n = 0;
  const Vec   *vecs;
  Vec         *copies;

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, &space));
  if (space) PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &vecs));
  if (!n || !PetscDefined(USE_COMPLEX)) {
    PetscCall(MatSetNearNullSpace(At, space));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicateVecs(vecs[0], n, &copies));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(VecCopy(vecs[k], copies[k]));
    PetscCall(VecConjugate(copies[k]));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)At), constant, n, copies, &conjugates));
  PetscCall(MatSetNearNullSpace(At, conjugates));
  PetscCall(MatNullSpaceDestroy(&conjugates));
  PetscCall(VecDestroyVecs(n, &copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up levels for the transpose of the user's matrix, with the aggregates and damping of its levels. If a PC that is
   reused meets its first transposed system after the values have changed, there are only the new ones: then these
   levels have aggregates and damping of their own */
static PetscErrorCode SetUpTransposedLevels(BAI *bai, Mat given, BAI **transposed)
{
  const BAIHierarchy h      = bai->hierarchy;
  const PetscBool    copied = (PetscBool)(bai->aij && bai->of_aij.id == h->of.id);
  BAI               *t      = bai->transposed;
  BAIVersion         now;

  PetscFunctionBegin;
  if (!t || !t->hierarchy || !t->hierarchy->ready || t->origin_setups != h->setups || t->origin_updates != h->updates) {
    PetscCall(GetTransposed(bai, copied ? bai->aij : given, &t));
    if (copied) now = bai->of_aij;
    else PetscCall(BAIVersionOf((PetscObject)given, &now));
    t->apart = (PetscBool)!BAIVersionsEqual(now, h->of);
    if (!t->hierarchy) PetscCall(BAIHierarchyCreate(t));
    if (t->origin_setups != h->setups) PetscCall(BAIHierarchyReset(t));
    PetscCall(SetNearNullSpace(given, t->aij));
    PetscCall(BAIScalingTranspose(&h->scaling, &t->hierarchy->scaling));
    t->options.backend           = h->backend;
    t->options.exchange          = bai->options.exchange;
    t->options.idle_wait         = bai->options.idle_wait;
    t->hierarchy->options        = h->options;
    t->hierarchy->options.single = h->info.single ? PETSC_BOOL3_TRUE : PETSC_BOOL3_FALSE;
    PetscCall(BAIHierarchySetUp(t, t->aij));
    t->origin_setups  = h->setups;
    t->origin_updates = h->updates;
  }
  *transposed = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets z to the transposed cycle for r. If the matrix is Hermitian, so is the cycle, and its transpose is its
   conjugate. given is the user's matrix */
PetscErrorCode BAIHierarchyApplyTranspose(BAI *bai, Mat given, Vec r, Vec z)
{
  const BAIHierarchy h  = bai->hierarchy;
  const PetscBool    is = BAIHierarchyIsHermitian(h);
  BAI               *t  = bai;

  PetscFunctionBegin;
  if (h->finite && !is && !h->jacobi) PetscCall(SetUpTransposedLevels(bai, given, &t));
  PetscCall(BAIHierarchyApply(t, r, z, (PetscBool)(is && PetscDefined(USE_COMPLEX))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what set-ups have made, and the transposed operator. Options stay, and so do levels, see BAIHierarchyReset() */
PetscErrorCode BAIReset(BAI *bai)
{
  PetscFunctionBegin;
  if (bai->transposed) {
    PetscCall(BAIHierarchyDestroy(bai->transposed));
    PetscCall(BAIReset(bai->transposed));
    PetscCall(PetscFree(bai->transposed));
  }
  PetscCall(BAIDropEngine(bai));
  PetscCall(BAIScatterDestroy(bai));
  PetscCall(MatDestroy(&bai->aij));
  PetscCall(VecDestroy(&bai->r));
  PetscCall(VecDestroy(&bai->c));
  PetscCall(BAIRefinementReset(bai));
  bai->node.size = 0; /* its ranks are found again */
  PetscFunctionReturn(PETSC_SUCCESS);
}
