/*
   The first small level of a matrix that is distributed over ranks. Each rank has its own copy of it, and levels for
   the copy, as one rank makes them. All ranks compute the same there, so nothing is sent back

   If ranks end inside a plane of a grid, each rank can still divide its own rows into boxes of the grid, but not the
   rows of the copy. There set-up would make aggregates by pairs, which takes more iterations. So the ranks make further
   levels together, and the copy takes their aggregates
*/
#include "ranks.h"
#include "rules.h"

/* Lists the rows of level number R->count that are sent in halo->row, also if only the engine has them */
static PetscErrorCode ListSent(BAIRankLevels R, BAIHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(BAIHaloRows(halo));
  if (halo->row || !halo->sends) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(halo->sends, &halo->row));
  PetscCall(
    BAICheckStatus(R->bai,
                   BAILevelsGet(R->bai->hierarchy->levels, BAI_ARRAY_SENT, R->count, (BAIInt)halo->sends, halo->row)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers the matrix of level number R->count on each rank, where M becomes the whole; only its values, unless pattern.
   If that level is the finest one, M is the user's matrix A, even where levels are made of -A */
PetscErrorCode BAIRestGather(BAIRankLevels R, PetscBool pattern, BAIMatrix *M)
{
  BAIRankLevel *L = &R->level[R->count];
  PetscInt     *sent;

  PetscFunctionBegin;
  if (pattern) {
    PetscCall(BAIAgree(R->bai, ListSent(R, &L->halo), NULL));
    PetscCall(PetscMalloc1(BAIHaloGhosts(&L->halo), &R->ghost));
    PetscCall(PetscMalloc1(L->halo.sends, &sent));
    for (PetscInt k = 0; k < L->halo.sends; k++) sent[k] = L->first + L->halo.row[k];
    PetscCall(BAIHaloExchange(&L->halo, PetscObjectComm(R->bai->obj), sizeof(*sent), sent, R->ghost));
    PetscCall(PetscFree(sent));
  }
  PetscCall(BAIGatheredTake(R->rest, R->count ? NULL : &R->bai->hierarchy->M, R->count, R->ghost, pattern, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With modes, gathers those on all rows of the last level on each rank, one after the other, and sets p->mode to them;
   the caller frees all */
static PetscErrorCode GatherModes(BAI *bai, BAIRankLevels R, BAILevelsParameters *p, PetscScalar **all)
{
  const PetscInt rows = R->level[R->made - 1].rows, modes = (PetscInt)p->modes;
  PetscScalar   *by_rows;

  PetscFunctionBegin;
  PetscCall(
    BAIGatherArray(bai, BAI_ARRAY_MODES, R->made - 1, &R->level[R->made - 1], (size_t)modes * sizeof(**all), &by_rows));
  PetscCall(PetscMalloc1(rows * modes, all));
  for (PetscInt k = 0; k < modes; k++) {
    p->mode[k] = (const BAIScalar *)*all + k * rows;
    for (PetscInt row = 0; row < rows; row++) (*all)[k * rows + row] = by_rows[row * modes + k];
  }
  PetscCall(PetscFree(by_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers level number R->count on each rank, whose matrix becomes M; collective */
PetscErrorCode BAIRestCreate(BAIRankLevels R, BAIMatrix *M)
{
  const BAIRankLevel *L    = &R->level[R->count];
  BAILevelsInfo       info = {.levels = 0};

  PetscFunctionBegin;
  BAILevelsInfoGet(R->bai->hierarchy->levels, &info);
  PetscCall(BAIGatheredCreate(R->bai, L->m, (PetscInt)info.level[R->count].nnz, BAI_GATHERED_MODES,
                              R->reach ? BAI_MAILBOX_OF_RANKS : BAI_MAILBOX_NONE, PETSC_FALSE, &R->rest));
  PetscCall(BAIRestGather(R, PETSC_TRUE, M));
  PetscCall(BAIHaloOfAll(PetscObjectComm(R->bai->obj), L->m, R->level[0].halo.tag, &R->everyone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes levels for the gathered matrix M. If the ranks have made levels beyond number R->count, the levels of M take
   their aggregates. parts: returns whether the caller must let the ranks make such levels, and call again. It must if
   a rank's own rows are a grid and the rows of M are not. The levels of a transposed matrix copy the aggregates of the
   matrix, so for them it must if it did for the matrix. Collective */
PetscErrorCode BAIRestMakeLevels(BAIRankLevels R, const BAIMatrix *M, PetscBool *parts)
{
  BAI                *bai = R->bai;
  const BAIHierarchy  h   = bai->hierarchy;
  const BAIRankLevel *L   = &R->level[R->count];
  PetscInt           *numbers[BAI_LEVELS_MOST + 1], *field = NULL;
  PetscScalar        *modes = NULL;
  BAILevelsInfo       info  = {.levels = 0};
  BAILevelsParameters p;
  BAIStatus           status;
  const int           last = R->made - 1;
  int                 in_parts;

  PetscFunctionBegin;
  BAILevelsDestroy(&R->levels);
  PetscCall(PetscMemcpy(&p, &h->p, sizeof(p)));
  p.given = 0;
  for (int l = R->count; l < last; l++)
    PetscCall(BAIGatherArray(bai, BAI_ARRAY_AGGREGATE, l, &R->level[l], sizeof(PetscInt), &numbers[p.given++]));
  if (R->count) p.constants = 0; /* the modes of other levels are no constants */
  if (p.modes && !p.constants) PetscCall(GatherModes(bai, R, &p, &modes));
  else if (!p.modes && p.fields > 1)
    PetscCall(BAIGatherArray(bai, BAI_ARRAY_FIELD, last, &R->level[last], sizeof(PetscInt), &field));
  if (p.modes && R->count) p.fields = p.modes;
  p.levels    = h->options.levels == PETSC_DECIDE ? 0 : (int)h->options.levels - R->count;
  p.above     = R->count;
  p.scaled    = R->count && R->agreed.single;
  p.twice     = R->count && BAIRepeats(h->hermitian, p.modes, R->count, (BAIInt)L->rows);
  p.over      = p.modes ? p.over : R->agreed.over;
  p.all       = 0;
  p.first     = 0;
  p.longest   = 0;
  p.resident  = 0;
  p.like      = bai->origin && !bai->apart ? bai->origin->hierarchy->ranks->levels : NULL;
  p.aggregate = (const BAIInt *const *)numbers;
  p.field     = (const BAIInt *)field;
  status      = BAILevelsCreate(h->backend, M, &p, &R->levels);
  for (int l = 0; l < p.given; l++) PetscCall(PetscFree(numbers[l]));
  PetscCall(PetscFree(field));
  PetscCall(PetscFree(modes));
  BAILevelsInfoGet(h->levels, &info);
  BAILevelsInfoGet(R->levels, &R->info);
  in_parts = p.like ? bai->origin->hierarchy->ranks->made > R->made
                    : !p.modes && info.grid.m[0] && !R->info.grid.m[0] && L->rows > BAI_LEVELS_COARSEST &&
      R->made < BAILevelsAtMost(&h->p);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), &in_parts));
  *parts        = (PetscBool)in_parts;
  R->flops_rest = (p.twice ? 2 : 1) * BAILevelsFlops(&R->info, h->p.local_iters, R->count);
  R->stop       = R->info.stop;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does the cycle of the gathered levels, from b to x */
PetscErrorCode BAIRestSolve(BAIRankLevels R, const BAIScalar *b, BAIScalar *x)
{
  PetscFunctionBegin;
  PetscCall(BAICheckStatus(R->bai, BAILevelsApply(R->levels, b, x)));
  PetscCall(BAIHierarchyLogFlops(R->bai->hierarchy, R->flops_rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}
