/*
   Many levels of a matrix that is distributed over ranks

   The rows of an aggregate are of one rank. A visit is to the blocks of this rank's rows of a level, for a residual that
   all ranks compute together. Coarse matrices are distributed as the aggregates are. Where a level is small, each rank
   gets all of it and has levels for that by itself: all ranks compute the same, so nothing is sent back. Their
   aggregates are boxes if that level is a grid, else those that the ranks would find if they went on together
*/
#include "../levels.h"
#include "../../engine/levels_rules.h"
#include <petscsf.h>

enum {
  SHARE = 8,       /* a level is small if it has at most 1/SHARE of the rows that a rank has of the finest level */
  MANY  = 1 << 18, /* and no more than these; */
  FEW   = BAI_LEVELS_SMALL, /* or so few */
  STUCK = 100000,           /* so few, and hardly any of them find others to be aggregated with */
  LAST  = 512               /* ranks find no more aggregates together on a level of so few rows */
};

typedef struct {
  Mat          A, P;   /* P: from the next level to this one, NULL: this one is the last, and smoothed */
  BAILevels    levels; /* of this rank's rows, for visits; NULL: it has none */
  BAINumbering next;   /* of the next level, on this rank */
  PetscInt    *field;  /* of each row of this rank, NULL: there is one field, or the level is the finest */
  PetscInt    *number; /* of each row of this rank its aggregate's, among those of all ranks, or -1; only for set-up */
  Vec          b, x, r, y, z;
  PetscInt     rows, aggregates;
  PetscInt64   nnz;
  double       flops; /* of a visit, on this rank */
  PetscBool    twice; /* two cycles from here on for each one of the level above */
} Level;

struct BAIRankLevels_ {
  int           count; /* of levels that are distributed; of the next one there are b and x */
  Level         level[BAI_LEVELS_MOST + 1];
  Mat           rest;   /* the next level, all of it, NULL: there is none; */
  BAILevels     levels; /* and levels for it */
  BAILevelsInfo info;
  Vec           b, x, r, y; /* of rest, on each rank */
  VecScatter    all, part;  /* from a distributed vector to b, and from x to one */
  double        flops;      /* of a cycle for rest */
  PetscBool     twice;
  const char   *stop;
};

/* The finest level's BAILevels are those of the hierarchy */
static PetscErrorCode DestroyLevel(Level *L, int l)
{
  PetscFunctionBegin;
  if (l) BAILevelsDestroy(&L->levels);
  PetscCall(PetscFree(L->field));
  PetscCall(PetscFree(L->number));
  PetscCall(MatDestroy(&L->A));
  PetscCall(MatDestroy(&L->P));
  PetscCall(VecDestroy(&L->b));
  PetscCall(VecDestroy(&L->x));
  PetscCall(VecDestroy(&L->r));
  PetscCall(VecDestroy(&L->y));
  PetscCall(VecDestroy(&L->z));
  *L = (Level){NULL};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIRankLevelsDestroy(BAIRankLevels *ranks)
{
  BAIRankLevels R = *ranks;

  PetscFunctionBegin;
  if (!R) PetscFunctionReturn(PETSC_SUCCESS);
  for (int l = 0; l <= BAI_LEVELS_MOST; l++) PetscCall(DestroyLevel(&R->level[l], l));
  BAILevelsDestroy(&R->levels);
  PetscCall(MatDestroy(&R->rest));
  PetscCall(VecDestroy(&R->b));
  PetscCall(VecDestroy(&R->x));
  PetscCall(VecDestroy(&R->r));
  PetscCall(VecDestroy(&R->y));
  PetscCall(VecScatterDestroy(&R->all));
  PetscCall(VecScatterDestroy(&R->part));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether v^H A u = (A v)^H u for two vectors at random, but for rounding. Levels look at the entries, but not at those
   that two ranks have of each other
*/
PetscErrorCode BAILooksHermitian(Mat A, PetscBool *is)
{
  Vec         u, v, Au, Av;
  PetscScalar one, two;
  PetscReal   scale, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &u, &Au));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(VecDuplicate(Au, &Av));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(VecSetRandom(v, NULL));
  PetscCall(VecPointwiseMult(v, v, u)); /* u need not be another vector */
  PetscCall(MatMult(A, u, Au));
  PetscCall(MatMult(A, v, Av));
  PetscCall(VecDot(Au, v, &one));
  PetscCall(VecDot(u, Av, &two));
  PetscCall(VecNorm(Au, NORM_2, &scale));
  PetscCall(VecNorm(v, NORM_2, &norm));
  *is = (PetscBool)(PetscAbsScalar(one - two) <= 1e5 * PETSC_MACHINE_EPSILON * scale * norm);
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Au));
  PetscCall(VecDestroy(&Av));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all ranks */
static PetscErrorCode AddUp(const BAI *bai, PetscInt count, PetscReal value[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, value, (PetscMPIInt)count, MPIU_REAL, MPIU_SUM, PetscObjectComm(bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By how much couplings are softened, as the signs of all of them say */
static PetscErrorCode FindOver(const BAI *bai, PetscReal *over)
{
  const BAIHierarchy h      = bai->hierarchy;
  PetscReal          sum[2] = {(PetscReal)h->info.less, (PetscReal)h->info.more};

  PetscFunctionBegin;
  PetscCall(AddUp(bai, 2, sum));
  *over = h->hermitian && sum[1] <= BAI_LEVELS_OTHER_SIGN * sum[0] ? h->options.over : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's rows of a matrix, with their entries in columns of other ranks */
typedef struct {
  Mat             Ad, Ao;
  const PetscInt *garray;
  BAIMatrix       M;
  BAIBackend      backend;
  PetscBool       device;
} Rows;

static PetscErrorCode GetRows(const BAI *bai, BAIBackend backend, Mat A, Rows *rows)
{
  PetscInt nghost;

  PetscFunctionBegin;
  *rows = (Rows){.backend = backend};
  PetscCall(BAIGetParts(bai->obj, A, &rows->Ad, &rows->Ao, &nghost, &rows->garray));
  PetscCall(BAIHierarchyGetMatrix(backend, rows->Ad, rows->Ao, nghost, &rows->M, &rows->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreRows(Rows *rows)
{
  PetscFunctionBegin;
  if (rows->M.nghost) PetscCall(BAIRestoreRows(rows->backend, rows->Ao, &rows->M.B));
  PetscCall(BAIRestoreRows(rows->backend, rows->Ad, &rows->M.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The levels of this rank's rows of a level */
static PetscErrorCode SetUpLevel(BAI *bai, BAIRankLevels R, int l)
{
  const BAIHierarchy  h = bai->hierarchy;
  Level              *L = &R->level[l];
  BAILevelsParameters p;
  BAILevelsInfo       info;
  BAIStatus           status = BAIStatusOf(BAI_OK);
  MatInfo             mat;
  PetscInt            n;
  Rows                rows;

  PetscFunctionBegin;
  if (!l) L->levels = h->levels;
  PetscCall(MatGetLocalSize(L->A, &n, NULL));
  PetscCall(MatGetInfo(L->A, MAT_GLOBAL_SUM, &mat));
  L->nnz   = (PetscInt64)mat.nz_used;
  L->twice = (PetscBool)(l && BAIRepeats(h->hermitian, 0, l, (BAIInt)L->rows));
  if (l && n) {
    PetscCall(PetscMemcpy(&p, &h->p, sizeof(p)));
    p.field   = (const BAIInt *)L->field;
    p.above   = l;
    p.grid    = L[-1].next;
    p.longest = 0;
    PetscCall(GetRows(bai, h->backend, L->A, &rows));
    status = BAILevelsCreate(h->backend, &rows.M, &p, &L->levels);
    PetscCall(RestoreRows(&rows));
  }
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  if (!L->levels) PetscFunctionReturn(PETSC_SUCCESS);
  BAILevelsInfoGet(L->levels, &info);
  L->next  = info.next;
  L->flops = 2.0 * (double)h->p.local_iters * (double)info.level[0].inside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The aggregates of this rank's rows and of what other ranks own of its columns */
typedef struct {
  PetscInt  m, first, all; /* of this rank, the first of them among all ranks', all of them */
  PetscInt *aggregate;     /* of rows and ghosts: own ones, then m plus a place in others */
  PetscInt *others, count; /* numbers of those of other ranks, ascending */
} Aggregates;

static PetscErrorCode DestroyAggregates(Aggregates *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a->aggregate));
  PetscCall(PetscFree(a->others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What other ranks have of their columns, for those that this one reads */
static PetscErrorCode Fetch(PetscLayout layout, PetscInt count, const PetscInt number[], MPI_Datatype type,
                            const void *mine, void *theirs)
{
  PetscSF sf;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(layout->comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, count, NULL, PETSC_COPY_VALUES, number));
  PetscCall(PetscSFBcastBegin(sf, type, mine, theirs, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, type, mine, theirs, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FindAggregates(const BAI *bai, Level *L, Aggregates *a)
{
  BAIStatus       status = BAIStatusOf(BAI_OK);
  PetscLayout     columns;
  PetscInt        n, nghost;
  const PetscInt *garray;
  Mat             Ad, Ao;

  PetscFunctionBegin;
  *a = (Aggregates){.m = 0};
  PetscCall(MatGetLocalSize(L->A, &n, NULL));
  PetscCall(BAIGetParts(bai->obj, L->A, &Ad, &Ao, &nghost, &garray));
  PetscCall(PetscMalloc1(n + nghost, &a->aggregate));
  if (L->levels) status = BAILevelsAggregates(L->levels, (BAIInt *)a->aggregate);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  for (PetscInt i = 0; i < n; i++) a->m = PetscMax(a->m, a->aggregate[i] + 1);
  PetscCallMPI(MPI_Scan(&a->m, &a->first, 1, MPIU_INT, MPI_SUM, PetscObjectComm(bai->obj)));
  a->all = a->first;
  a->first -= a->m;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &a->all, 1, MPIU_INT, MPI_MAX, PetscObjectComm(bai->obj)));
  PetscCall(PetscMalloc1(n + 1, &L->number));
  for (PetscInt i = 0; i < n; i++) L->number[i] = a->aggregate[i] < 0 ? -1 : a->first + a->aggregate[i];
  PetscCall(MatGetLayouts(L->A, NULL, &columns));
  PetscCall(Fetch(columns, nghost, garray, MPIU_INT, L->number, a->aggregate + n));
  PetscCall(PetscMalloc1(nghost, &a->others));
  for (PetscInt g = 0; g < nghost; g++)
    if (a->aggregate[n + g] >= 0) a->others[a->count++] = a->aggregate[n + g];
  PetscCall(PetscSortRemoveDupsInt(&a->count, a->others));
  for (PetscInt g = n; g < n + nghost; g++) {
    PetscInt place = -1;

    if (a->aggregate[g] < 0) continue;
    PetscCall(PetscFindInt(a->aggregate[g], a->count, a->others, &place));
    a->aggregate[g] = a->m + place;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A distributed matrix of m local rows and n local columns, where level matrices are */
static PetscErrorCode CreateMat(const BAI *bai, PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[],
                                const PetscScalar a[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm(bai->obj), A));
  PetscCall(MatSetSizes(*A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, bai->hierarchy->device ? MATMPIAIJCUSPARSE : MATMPIAIJ));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P is 1 on each aggregate; next: the matrix of the next level */
static PetscErrorCode CreateP(const BAI *bai, const Level *L, Mat next, Mat *P)
{
  PetscInt    *i, *j, n, m;
  PetscScalar *one;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(L->A, &n, NULL));
  PetscCall(MatGetLocalSize(next, &m, NULL));
  PetscCall(PetscMalloc3(n + 1, &i, n, &j, n, &one));
  i[0] = 0;
  for (PetscInt row = 0; row < n; row++) {
    i[row + 1] = i[row];
    if (L->number[row] < 0) continue;
    j[i[row]]         = L->number[row];
    one[i[row + 1]++] = 1.0;
  }
  PetscCall(CreateMat(bai, n, m, i, j, one, P));
  PetscCall(PetscFree3(i, j, one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = P^H A P, softened unless over is 1 */
static PetscErrorCode CreateCoarse(const BAI *bai, Mat A, const Aggregates *a, PetscReal over, Mat *C)
{
  BAIProduct  P;
  BAIStatus   status;
  PetscLayout layout;
  PetscInt   *rows_of;
  PetscReal  *inner;
  Rows        rows;

  PetscFunctionBegin;
  PetscCall(GetRows(bai, BAI_BACKEND_HOST, A, &rows));
  status = BAIProductCreate(&rows.M, (BAIInt)a->m, (BAIInt)(a->m + a->count), (const BAIInt *)a->aggregate, &P);
  PetscCall(RestoreRows(&rows));
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  if (over != 1) {
    PetscCall(PetscMalloc2(a->count, &rows_of, a->count, &inner));
    PetscCall(PetscLayoutCreateFromSizes(PetscObjectComm(bai->obj), a->m, PETSC_DETERMINE, 1, &layout));
    PetscCall(Fetch(layout, a->count, a->others, MPIU_INT, P.rows, rows_of));
    PetscCall(Fetch(layout, a->count, a->others, MPIU_REAL, P.inner, inner));
    PetscCall(PetscLayoutDestroy(&layout));
    BAIProductSoften(&P, bai->hierarchy->negative, (const BAIInt *)rows_of, (const BAIReal *)inner, (BAIReal)over);
    PetscCall(PetscFree2(rows_of, inner));
  }
  for (BAIInt k = 0; k < P.i[P.m]; k++) P.j[k] = (BAIInt)(P.j[k] < P.m ? a->first + P.j[k] : a->others[P.j[k] - P.m]);
  PetscCall(CreateMat(bai, a->m, a->m, (const PetscInt *)P.i, (const PetscInt *)P.j, (const PetscScalar *)P.a, C));
  BAIProductDestroy(&P);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fields of aggregates are those of their rows */
static PetscErrorCode FindFields(const BAI *bai, const Level *L, const Aggregates *a, PetscInt **field)
{
  const PetscInt fields = (PetscInt)bai->hierarchy->p.fields;
  PetscInt       n;

  PetscFunctionBegin;
  *field = NULL;
  if (fields == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(L->A, &n, NULL));
  PetscCall(PetscMalloc1(a->m + 1, field));
  for (PetscInt i = 0; i < n; i++)
    if (a->aggregate[i] >= 0) (*field)[a->aggregate[i]] = L->field ? L->field[i] : i % fields;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of the next level, unless there is none */
static PetscErrorCode Coarsen(const BAI *bai, BAIRankLevels R, int l, PetscReal over)
{
  Level     *L = &R->level[l];
  Aggregates a;

  PetscFunctionBegin;
  PetscCall(FindAggregates(bai, L, &a));
  R->stop = a.all ? "rows are not coupled strongly enough to be aggregated" : "all rows dominate";
  if (a.all && a.all <= L->rows - L->rows / BAI_LEVELS_PARTS) {
    PetscCall(CreateCoarse(bai, L->A, &a, over, &L[1].A));
    PetscCall(FindFields(bai, L, &a, &L[1].field));
    L->aggregates = L[1].rows = a.all;
  } else PetscCall(PetscFree(L->number));
  PetscCall(DestroyAggregates(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All numbers of rows on each rank */
static PetscErrorCode GatherNumbers(Mat A, const PetscInt mine[], IS *all)
{
  PetscInt n;
  IS       is;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)A), n, mine, PETSC_USE_POINTER, &is));
  PetscCall(ISAllGather(is, all));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of all rows on each rank, and how they come there and back */
static PetscErrorCode CreateScatters(BAIRankLevels R, Mat A)
{
  Level   *L = &R->level[R->count];
  IS       mine;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &L->x, &L->b));
  PetscCall(MatCreateVecs(R->rest, &R->x, &R->b));
  PetscCall(VecDuplicate(R->x, &R->y));
  PetscCall(VecDuplicate(R->b, &R->r));
  PetscCall(VecGetOwnershipRange(L->b, &first, &last));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, last - first, first, 1, &mine));
  PetscCall(VecScatterCreateToAll(L->b, &R->all, NULL));
  PetscCall(VecScatterCreate(R->x, mine, L->x, mine, &R->part));
  PetscCall(ISDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of a level's matrix on each rank */
static PetscErrorCode GatherMat(const BAI *bai, Mat A, Mat *all)
{
  IS       is;
  Mat     *sub;
  PetscInt N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &is));
  PetscCall(MatCreateSubMatrices(A, 1, &is, &is, MAT_INITIAL_MATRIX, &sub));
  PetscCall(PetscObjectReference((PetscObject)sub[0]));
  *all = sub[0];
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(ISDestroy(&is));
  if (bai->hierarchy->device) PetscCall(MatConvert(*all, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of level number R->count on each rank, and levels for it; those behind it say what its aggregates are */
static PetscErrorCode CreateRest(BAI *bai, BAIRankLevels R, PetscReal over)
{
  const BAIHierarchy  h = bai->hierarchy;
  const Level        *L = &R->level[R->count];
  IS                  numbers[BAI_LEVELS_MOST + 1], fields   = NULL;
  const PetscInt     *aggregate[BAI_LEVELS_MOST + 1], *field = NULL;
  BAILevelsParameters p;
  BAIStatus           status;
  Rows                rows;

  PetscFunctionBegin;
  PetscCall(GatherMat(bai, L->A, &R->rest));
  PetscCall(CreateScatters(R, L->A));
  R->twice = (PetscBool)(R->count && BAIRepeats(h->hermitian, 0, R->count, (BAIInt)L->rows));
  PetscCall(PetscMemcpy(&p, &h->p, sizeof(p)));
  for (; L->number; L++, p.given++) {
    PetscCall(GatherNumbers(L->A, L->number, &numbers[p.given]));
    PetscCall(ISGetIndices(numbers[p.given], &aggregate[p.given]));
  }
  if (L->field) PetscCall(GatherNumbers(L->A, L->field, &fields));
  if (L->field) PetscCall(ISGetIndices(fields, &field));
  p.levels    = h->options.levels == PETSC_DECIDE ? 0 : (int)h->options.levels - R->count;
  p.above     = R->count;
  p.over      = (BAIReal)over;
  p.visited   = 0;
  p.all       = 0;
  p.longest   = 0;
  p.aggregate = (const BAIInt *const *)aggregate;
  p.field     = (const BAIInt *)field;
  PetscCall(GetRows(bai, h->backend, R->rest, &rows));
  status = BAILevelsCreate(h->backend, &rows.M, &p, &R->levels);
  PetscCall(RestoreRows(&rows));
  for (int l = 0; l < p.given; l++) {
    PetscCall(ISRestoreIndices(numbers[l], &aggregate[l]));
    PetscCall(ISDestroy(&numbers[l]));
  }
  if (fields) PetscCall(ISRestoreIndices(fields, &field));
  PetscCall(ISDestroy(&fields));
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  BAILevelsInfoGet(R->levels, &R->info);
  R->flops = BAILevelsFlops(&R->info, h->p.local_iters, R->count);
  R->stop  = R->info.stop;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows up to which a level is small */
static PetscInt Small(const BAI *bai, PetscInt rows)
{
  PetscMPIInt size;

  (void)MPI_Comm_size(PetscObjectComm(bai->obj), &size);
  return PetscMax(FEW, PetscMin(MANY, rows / size / SHARE));
}

/* What all ranks have together, in the place of what this one has; bytes are the sum of all of them */
static PetscErrorCode FindInfo(BAI *bai, BAIRankLevels R)
{
  enum {
    ALONE,
    BLOCKS,
    INSIDE,
    BYTES,
    SUMS
  };
  BAILevelsInfo *all = &bai->hierarchy->info;
  BAILevelsInfo  info;
  PetscInt64     sum[BAI_LEVELS_MOST][SUMS] = {{0}};

  PetscFunctionBegin;
  for (int l = 0; l < R->count; l++) {
    if (!R->level[l].levels) continue;
    BAILevelsInfoGet(R->level[l].levels, &info);
    sum[l][ALONE]  = info.level[0].alone;
    sum[l][BLOCKS] = info.level[0].blocks;
    sum[l][INSIDE] = info.level[0].inside;
    sum[l][BYTES]  = info.bytes;
  }
  sum[0][BYTES] += R->info.bytes;
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, sum, BAI_LEVELS_MOST * SUMS, MPIU_INT64, MPI_SUM, PetscObjectComm(bai->obj)));
  all->levels = 0;
  all->bytes  = sum[0][BYTES];
  for (int l = 0; l < R->count; l++) {
    const Level *L = &R->level[l];

    all->level[all->levels++] = (BAILevelInfo){.rows       = (BAIInt)L->rows,
                                               .nnz        = L->nnz,
                                               .aggregates = (BAIInt)L->aggregates,
                                               .alone      = (BAIInt)sum[l][ALONE],
                                               .blocks     = (BAIInt)sum[l][BLOCKS],
                                               .inside     = sum[l][INSIDE]};
    if (l) all->bytes += sum[l][BYTES] + L->nnz * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt));
  }
  for (int l = 0; l < R->info.levels && all->levels < BAI_LEVELS_MOST; l++)
    all->level[all->levels++] = R->info.level[l];
  all->stop      = R->stop;
  all->exact     = R->rest && R->info.exact;
  all->hermitian = bai->hierarchy->hermitian;
  all->grid      = R->info.grid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many levels are distributed */
int BAIRankLevelsCount(const struct BAIRankLevels_ *R)
{
  return R->count;
}

/* What a cycle needs of the levels that stay distributed; the others go */
static PetscErrorCode Finish(const BAI *bai, BAIRankLevels R)
{
  PetscFunctionBegin;
  for (int l = 0; l < R->count; l++) {
    Level *L = &R->level[l];

    if (L[1].A) PetscCall(CreateP(bai, L, L[1].A, &L->P));
    PetscCall(PetscFree(L->number));
    PetscCall(MatCreateVecs(L->A, &L->x, &L->b));
    PetscCall(VecDuplicate(L->x, &L->y));
    PetscCall(VecDuplicate(L->b, &L->r));
    if (L->twice) PetscCall(VecDuplicate(L->x, &L->z));
  }
  for (int l = R->count; l <= BAI_LEVELS_MOST; l++) {
    const Vec b = R->level[l].b, x = R->level[l].x;

    R->level[l].b = R->level[l].x = NULL;
    PetscCall(DestroyLevel(&R->level[l], l));
    R->level[l].b = b;
    R->level[l].x = x;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Levels for a matrix of several ranks; those of this rank's rows are set up. Whether the matrix is Hermitian is found
   out here. Collective
*/
PetscErrorCode BAIRankLevelsSetUp(BAI *bai, Mat A)
{
  const BAIHierarchy h    = bai->hierarchy;
  const int          most = h->options.levels == PETSC_DECIDE ? BAI_LEVELS_MOST : (int)h->options.levels;
  BAIRankLevels      R;
  PetscInt           small;
  PetscReal          over = 1;
  int                l    = 0;

  PetscFunctionBegin;
  PetscCall(BAIRankLevelsDestroy(&h->ranks));
  PetscCall(PetscNew(&h->ranks));
  R = h->ranks;
  if (h->hermitian) PetscCall(BAILooksHermitian(A, &h->hermitian));
  PetscCall(FindOver(bai, &over));
  PetscCall(PetscObjectReference((PetscObject)A));
  R->level[0].A = A;
  PetscCall(MatGetSize(A, &R->level[0].rows, NULL));
  small   = Small(bai, R->level[0].rows);
  R->stop = "there are as many as allowed";
  while (R->level[l].rows > LAST) {
    PetscCall(SetUpLevel(bai, R, l));
    if (l + 1 == most) break;
    PetscCall(Coarsen(bai, R, l, over));
    if (!R->level[l + 1].A) break;
    R->stop = "there are as many as allowed";
    l++;
  }
  /* l is the last level; all levels are distributed, or those down to the first that is small */
  while (R->count <= l && R->level[R->count].rows > small) R->count++;
  if (R->count == l + 1 && l + 1 < most && R->level[l].rows <= STUCK) R->count = l;
  if (R->count <= l) PetscCall(CreateRest(bai, R, over));
  PetscCall(Finish(bai, R));
  PetscCall(FindInfo(bai, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = S r, or a cycle */
static PetscErrorCode Visit(const BAI *bai, BAILevels levels, PetscBool cycle, double flops, Vec r, Vec z)
{
  const BAIHierarchy h = bai->hierarchy;
  BAIScalar         *in, *out;
  BAIStatus          status = BAIStatusOf(BAI_OK);
  PetscInt           rows;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(r, &rows)); /* the arrays of 0 rows may be NULL */
  PetscCall(BAIHierarchyGetArray(h, r, PETSC_TRUE, PETSC_FALSE, &in));
  PetscCall(BAIHierarchyGetArray(h, z, PETSC_FALSE, PETSC_TRUE, &out));
  PetscCheck(!rows || (in && out), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The matrix is on a GPU, and vectors for it are kept on the host: take off -vec_bind_below, or let the "
             "matrix be on the host, -mat_type aij");
  if (rows) status = (cycle ? BAILevelsApply : BAILevelsVisit)(levels, in, out);
  PetscCall(BAIHierarchyRestoreArray(h, z, PETSC_FALSE, PETSC_TRUE, &out));
  PetscCall(BAIHierarchyRestoreArray(h, r, PETSC_TRUE, PETSC_FALSE, &in));
  PetscCall(BAIHierarchyLogFlops(h, flops));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = x + S (b - A x) */
static PetscErrorCode Smooth(const BAI *bai, Level *L)
{
  PetscFunctionBegin;
  PetscCall(MatResidual(L->A, L->b, L->x, L->r));
  PetscCall(Visit(bai, L->levels, PETSC_FALSE, L->flops, L->r, L->y));
  PetscCall(VecAXPY(L->x, 1.0, L->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x is a cycle for b on the level that each rank has all of */
static PetscErrorCode CycleRest(const BAI *bai, BAIRankLevels R, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(R->all, b, R->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(R->all, b, R->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(Visit(bai, R->levels, PETSC_TRUE, R->flops, R->b, R->x));
  if (R->twice) {
    PetscCall(MatResidual(R->rest, R->b, R->x, R->r));
    PetscCall(Visit(bai, R->levels, PETSC_TRUE, R->flops, R->r, R->y));
    PetscCall(VecAXPY(R->x, 1.0, R->y));
  }
  PetscCall(VecScatterBegin(R->part, R->x, x, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(R->part, R->x, x, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x of a level is a cycle for its b, from zero; b may change */
static PetscErrorCode Cycle(const BAI *bai, BAIRankLevels R, int l)
{
  Level *L = &R->level[l], *next = L + 1;

  PetscFunctionBegin;
  if (l == R->count) {
    PetscCall(CycleRest(bai, R, L->b, L->x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Visit(bai, L->levels, PETSC_FALSE, L->flops, L->b, L->x));
  if (!L->P) {
    for (int visit = 1; visit < BAI_LEVELS_VISITS; visit++) PetscCall(Smooth(bai, L));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatResidual(L->A, L->b, L->x, L->r));
  PetscCall(MatMultTranspose(L->P, L->r, next->b));
  PetscCall(Cycle(bai, R, l + 1));
  if (next->twice) {
    PetscCall(VecCopy(next->x, next->z));
    PetscCall(MatResidual(next->A, next->b, next->x, next->r));
    PetscCall(VecCopy(next->r, next->b));
    PetscCall(Cycle(bai, R, l + 1));
    PetscCall(VecAXPY(next->x, 1.0, next->z));
  }
  PetscCall(MatMultAdd(L->P, next->x, L->x, L->x));
  PetscCall(Smooth(bai, L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z is a cycle for r */
PetscErrorCode BAIRankLevelsApply(BAI *bai, Vec r, Vec z)
{
  const BAIRankLevels R = bai->hierarchy->ranks;

  PetscFunctionBegin;
  PetscCall(VecCopy(r, R->level[0].b));
  PetscCall(Cycle(bai, R, 0));
  PetscCall(VecCopy(R->level[0].x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}
