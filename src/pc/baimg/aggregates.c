/*
   Aggregates of the finest level that the user gives to a PCBAIMG: a source of aggregates besides those of the engine
*/
#include "../../multigrid/hierarchy.h" /*I "petscbai.h" I*/
#include <petsc/private/pcimpl.h>

struct BAIAggregates_ {
  IS            is;
  PetscInt      n;         /* points of this rank: rows, or with a near null space, rows over the block size */
  PetscInt      fields;    /* unknowns of a point */
  BAIInt       *aggregate; /* aggregate of each point, or -1 */
  BAIInt       *field;     /* field of each aggregate, which is the field of its first row */
  const BAIInt *level[1];  /* array for BAILevelsParameters.aggregate */
};

/*@
   PCBAIMGSetAggregates - Sets the aggregates of rows that make up the first coarse level

   Collective

   Input Parameters:
+  pc         - the preconditioner
-  aggregates - one entry for each row of this MPI rank: the number of its aggregate, from 0 on each rank, or -1 for a
                row without a part in the coarse levels; `NULL` (default) lets set-up choose aggregates

   Level: advanced

   Notes:
   Every number from 0 to the largest one must be used, by at most 128 rows. With a near null space,
   `MatSetNearNullSpace()`, the unknowns of a point must be in the same aggregate, see `MatSetBlockSize()`. An index set
   that violates this, or has another size than the local rows, is an error at set-up. Without a near null space, set-up
   may use a constant on each field in its place, but only if the unknowns of each point are in the same aggregate. The
   preconditioner keeps a reference to the index set and reads it at set-up; do not change it.

   Only the first coarse level is made of these aggregates. Aggregates of coarser levels are pairs of pairs of rows.

   With aggregates set, a `KSPBAI` applies multigrid also if its matrix fits in registers and shared memory of a GPU.

.seealso: `PCBAIMG`, `PCBAIMGSetLevels()`, `ISCreateGeneral()`
@*/
PetscErrorCode PCBAIMGSetAggregates(PC pc, IS aggregates)
{
  BAI         *bai;
  BAIHierarchy h;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (aggregates) PetscValidHeaderSpecific(aggregates, IS_CLASSID, 2);
  PetscCall(BAIGet((PetscObject)pc, &BAIFaceMG, &bai));
  if (!bai) PetscFunctionReturn(PETSC_SUCCESS);
  h = bai->hierarchy;
  PetscCall(PetscObjectReference((PetscObject)aggregates));
  PetscCall(BAIAggregatesDestroy(&h->aggregates));
  if (aggregates) {
    PetscCall(PetscNew(&h->aggregates));
    h->aggregates->is = aggregates;
  }
  h->ready         = PETSC_FALSE;
  h->fields.looked = PETSC_FALSE; /* whether constants on fields are taken may depend on aggregates */
  BAIChanged(bai);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIAggregatesDestroy(BAIAggregates *g)
{
  PetscFunctionBegin;
  if (!*g) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISDestroy(&(*g)->is));
  PetscCall(PetscFree2((*g)->aggregate, (*g)->field));
  PetscCall(PetscFree(*g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error unless every aggregate has rows, at most as many as a block, and the unknowns of a point are in the
   same one. of has the aggregates of n local rows; rows, which must be zeros, gets the number of rows of each */
static PetscErrorCode CheckAggregates(PetscInt n, PetscInt unknowns, const PetscInt of[], PetscInt rows[])
{
  PetscInt count = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(of[i] >= -1 && of[i] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "PCBAIMGSetAggregates(): local row %" PetscInt_FMT " is in aggregate %" PetscInt_FMT
               ": must be -1, or less than the %" PetscInt_FMT " local rows",
               i, of[i], n);
    PetscCheck(of[i] == of[i - i % unknowns], PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "PCBAIMGSetAggregates(): local row %" PetscInt_FMT " is in aggregate %" PetscInt_FMT
               ", and another unknown of its point in %" PetscInt_FMT ": with a near null space both must be the same",
               i, of[i], of[i - i % unknowns]);
    count = PetscMax(count, of[i] + 1);
    if (of[i] >= 0) rows[of[i]]++;
  }
  for (PetscInt c = 0; c < count; c++)
    PetscCheck(rows[c] > 0 && rows[c] <= BAI_LEVELS_BLOCK, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "PCBAIMGSetAggregates(): aggregate %" PetscInt_FMT " has %" PetscInt_FMT
               " rows: must be at least 1 and at most %d",
               c, rows[c], BAI_LEVELS_BLOCK);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the user gave no aggregates, or those in which the unknowns of each point are together. Collective */
PetscErrorCode BAIAggregatesHavePoints(const BAI *bai, PetscInt unknowns, PetscBool *have)
{
  const BAIAggregates g = bai->hierarchy->aggregates;
  const PetscInt     *of;
  PetscInt            n;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  if (g) {
    PetscCall(ISGetLocalSize(g->is, &n));
    PetscCall(ISGetIndices(g->is, &of));
    for (PetscInt i = 0; i < n; i++) *have = (PetscBool)(*have && of[i] == of[i - i % unknowns]);
    PetscCall(ISRestoreIndices(g->is, &of));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, have, 1, BAI_MPI_BOOL, MPI_LAND, PetscObjectComm(bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Passes the user's aggregates, if there are any, to the engine */
PetscErrorCode BAIAggregatesOfUsers(const BAI *bai, Mat A, BAILevelsParameters *p)
{
  const BAIAggregates g        = bai->hierarchy->aggregates;
  const PetscInt      unknowns = p->modes ? (PetscInt)p->fields : 1;
  const PetscInt     *of;
  PetscInt            n, length, *rows;
  PetscErrorCode      code;

  PetscFunctionBegin;
  if (!g) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(ISGetLocalSize(g->is, &length));
  PetscCheck(length == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "PCBAIMGSetAggregates(): the index set has %" PetscInt_FMT " entries on this rank: must be %" PetscInt_FMT
             ", the rows of the matrix there",
             length, n);
  if (!g->aggregate || g->n != n / unknowns || g->fields != (PetscInt)p->fields) {
    PetscCall(PetscFree2(g->aggregate, g->field));
    PetscCall(PetscCalloc1(n + 1, &rows));
    PetscCall(ISGetIndices(g->is, &of));
    code = CheckAggregates(n, unknowns, of, rows);
    if (!code) code = PetscMalloc2(n + 1, &g->aggregate, n + 1, &g->field);
    g->n      = n / unknowns;
    g->fields = (PetscInt)p->fields;
    for (PetscInt i = 0; i < g->n && !code; i++) g->aggregate[i] = (BAIInt)of[i * unknowns];
    for (PetscInt i = n - 1; i >= 0 && !code; i--)
      if (of[i] >= 0) g->field[of[i]] = (BAIInt)(i % g->fields);
    PetscCall(ISRestoreIndices(g->is, &of));
    PetscCall(PetscFree(rows));
    PetscCall(code);
    g->level[0] = g->aggregate;
  }
  p->given     = 1;
  p->aggregate = g->level;
  p->no_grid   = 1;
  if (unknowns == 1 && p->fields > 1) p->field = g->field;
  PetscFunctionReturn(PETSC_SUCCESS);
}
