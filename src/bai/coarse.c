/*
   The coarse space: which rows are an aggregate, and which functions there are on it
*/
#include "baiimpl.h"
#include "../engine/partition.h"
#include "../engine/aggregate.h"
#include <petsc/private/kspimpl.h>

enum {
  NESTED_ROWS = 1 << 17, /* at most: more than that no device keeps on the chip; */
  LARGE_ROWS  = 1 << 16, /* and of more than so many, blocks are to be larger, and so aggregates and unknowns fewer: */
  LARGE_BLOCK = 512,
  LEAST_ROWS  = 512, /* that auto makes a coarse space for */
  WARP        = 32   /* rows of an aggregate, or a multiple of that: warps that work on one aggregate sum faster */
};

/* Unknowns of the coarse space, about: 0 for none, PETSC_DECIDE to have them chosen */
PetscInt BAIChooseCoarse(const BAI *bai)
{
  const PetscBool wait = (PetscBool)(bai->face->classid == KSP_CLASSID &&
                                     (!bai->slow || bai->vain ||
                                      bai->options.momentum >
                                        0.0)); /* a fixed momentum is for the iteration as it is */

  return bai->options.coarse == PETSC_DECIDE && wait ? 0 : bai->options.coarse;
}

/* The matrix is large enough for one; the same on all ranks */
PetscBool BAICanCoarsen(const BAI *bai)
{
  return (PetscBool)(bai->rows >= LEAST_ROWS);
}

/*
   Global iterations after which a slow solve makes one: about as many as that takes the time of, so that a solve takes
   at most twice the time that it needs. On the host these are few. On a GPU it is some 25 ms whatever the size, most of
   which passes on the host, or between kernels: entries that are read meanwhile, but of small matrices no more than so
   many times
*/
PetscInt BAICoarsenFrom(const BAI *bai)
{
  const PetscReal entries = 5e9, most = 5000;

  if (bai->use.backend == BAI_BACKEND_HOST) return 1;
  return (PetscInt)PetscMin(PetscMax(entries / PetscMax(bai->entries, 1), 1), most);
}

/* Rows of an aggregate of which blocks are made up, of n that make up a coarse space */
static PetscInt NestedRows(const BAIChoice *c, PetscInt n)
{
  const PetscInt wanted = c->coarse == PETSC_DECIDE ? (n <= LARGE_ROWS / 2 ? c->block_size / 2 : c->block_size)
                                                    : n / c->coarse;
  const PetscInt rows   = (wanted + WARP / 2) / WARP * WARP;

  return PetscMax(rows, WARP);
}

/* Blocks made up of aggregates, if nobody wants others, and the matrix is small, and all on this rank: where ranks
 * meet, what is left over for the last aggregates would be strips */
PetscErrorCode BAIChooseNested(const BAI *bai, BAIChoice *c)
{
  const PetscInt n = bai->rows;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->face), &size));
  c->nested = PETSC_FALSE;
  if (size > 1 || n > NESTED_ROWS) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->coarse && !bai->options.block_size && n > LARGE_ROWS && bai->face->classid == KSP_CLASSID)
    c->block_size = LARGE_BLOCK;
  c->nested = (PetscBool)(c->coarse && bai->options.partition == BAI_PARTITION_AUTO && !bai->options.overlap &&
                          !bai->options.theta && c->block_size >= WARP && NestedRows(c, n) <= c->block_size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMemory(BAIStatus status, PetscInt n)
{
  PetscFunctionBegin;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory for the aggregates of %" PetscInt_FMT " rows",
             n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How strongly aggregates couple: sums of |a_ij| between them, each only once in a row */
static PetscErrorCode Quotient(PetscInt n, const BAICSR *csr, PetscInt m, const BAIInt *first, const BAIInt *row,
                               const PetscInt *aggregate, PetscInt **qi, PetscInt **qj, PetscScalar **qa)
{
  PetscInt *last, count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m + 1, &last));
  PetscCall(PetscMalloc1(m + 1, qi));
  PetscCall(PetscMalloc1(csr->i[n] + 1, qj));
  PetscCall(PetscMalloc1(csr->i[n] + 1, qa));
  for (PetscInt K = 0; K < m; K++) last[K] = -1;
  for (PetscInt K = 0; K < m; K++) {
    (*qi)[K] = count;
    for (BAIInt at = first[K]; at < first[K + 1]; at++) {
      for (BAIInt k = csr->i[row[at]]; k < csr->i[row[at] + 1]; k++) {
        const PetscInt J = aggregate[csr->j[k]];

        if (J == K) continue;
        if (last[J] < (*qi)[K]) {
          last[J]      = count;
          (*qj)[count] = J;
          (*qa)[count] = 0.0;
          count++;
        }
        (*qa)[last[J]] += PetscAbsScalar(((const PetscScalar *)csr->a)[k]);
      }
    }
  }
  (*qi)[m] = count;
  PetscCall(PetscFree(last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the blocks aggregate by aggregate; one of fewer rows comes last in its block, so that all others begin with a
 * warp */
static void ListBlocks(PetscInt blocks, const BAIInt *block_first, BAIInt *members, PetscInt rows, const BAIInt *first,
                       const BAIInt *row, PetscInt *place_first, PetscInt *place_row, PetscInt *aggregate)
{
  PetscInt place = 0, number = 0;

  for (PetscInt block = 0; block < blocks; block++) {
    const BAIInt begin = block_first[block], end = block_first[block + 1];

    for (BAIInt k = begin; k + 1 < end; k++) {
      const BAIInt K = members[k];

      if (first[K + 1] - first[K] == rows) continue;
      members[k]       = members[end - 1];
      members[end - 1] = K;
    }
    place_first[block] = place;
    for (BAIInt k = begin; k < end; k++, number++) {
      for (BAIInt at = first[members[k]]; at < first[members[k] + 1]; at++) {
        place_row[place++] = row[at];
        aggregate[row[at]] = number;
      }
    }
  }
  place_first[blocks] = place;
}

/* Rows couple strongly in some directions only: on average, to no more than 6 in 10 of those that they couple to */
static PetscBool IsAnisotropic(PetscInt n, const BAICSR *csr)
{
  const PetscReal    strong = 0.25;
  const PetscScalar *a      = (const PetscScalar *)csr->a;
  PetscInt64         all = 0, few = 0;

  for (PetscInt i = 0; i < n; i++) {
    PetscReal most = 0.0;

    for (BAIInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      if (csr->j[k] != i) most = PetscMax(most, PetscAbsScalar(a[k]));
    }
    for (BAIInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      if (csr->j[k] == i) continue;
      all++;
      if (PetscAbsScalar(a[k]) >= strong * most) few++;
    }
  }
  return (PetscBool)(few <= 0.6 * (double)all);
}

/* The part of the sum of |a_ij|, i != j, that is inside aggregates */
static PetscReal Inside(PetscInt n, const BAICSR *csr, const PetscInt *aggregate)
{
  const PetscScalar *a   = (const PetscScalar *)csr->a;
  PetscReal          all = 0.0, inside = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    for (BAIInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      const PetscReal magnitude = csr->j[k] == i ? 0.0 : PetscAbsScalar(a[k]);

      all += magnitude;
      if (aggregate[csr->j[k]] == aggregate[i]) inside += magnitude;
    }
  }
  return all > 0.0 ? inside / all : 1.0;
}

/* All couplings of a row are of the same size, in all rows */
static PetscBool AreAlike(PetscInt n, const BAICSR *csr)
{
  const PetscScalar *a = (const PetscScalar *)csr->a;

  for (PetscInt i = 0; i < n; i++) {
    PetscReal one = 0.0;

    for (BAIInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      const PetscReal magnitude = csr->j[k] == i ? 0.0 : PetscAbsScalar(a[k]);

      if (magnitude > 0.0 && one > 0.0 && magnitude != one) return PETSC_FALSE;
      if (magnitude > 0.0) one = magnitude;
    }
  }
  return PETSC_TRUE;
}

/* Rows in the order of aggregates that are grown one after the other */
typedef struct {
  PetscInt  rows; /* of an aggregate, but for the last */
  BAIInt    m;    /* aggregates */
  PetscInt *first, *row, *aggregate;
  PetscReal inside;
} Growth;

static PetscErrorCode Grow(PetscInt n, const BAICSR *csr, PetscBool pattern, PetscInt rows, Growth *g)
{
  const BAICSR by = {csr->i, csr->j, pattern ? NULL : csr->a};

  PetscFunctionBegin;
  g->rows = rows;
  PetscCall(PetscMalloc3(n + 1, &g->first, n + 1, &g->row, n + 1, &g->aggregate));
  PetscCall(
    CheckMemory(BAIPartitionGraph((BAIInt)n, &by, (BAIInt)rows, &g->m, (BAIInt *)g->first, (BAIInt *)g->row), n));
  for (PetscInt K = 0; K < g->m; K++) {
    for (PetscInt at = g->first[K]; at < g->first[K + 1]; at++) g->aggregate[g->row[at]] = K;
  }
  g->inside = Inside(n, csr, g->aggregate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Forget(Growth *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(g->first, g->row, g->aggregate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Aggregates grown along strong couplings; long ones leave more to do, and so are smaller. Where some couplings are
   only a little stronger, aggregates become long for nothing: so they are grown by the pattern alone as well, and those
   are taken if they have clearly more inside
*/
static PetscErrorCode GrowAggregates(PetscInt n, const BAICSR *csr, PetscInt rows, PetscBool smaller, Growth *g)
{
  const PetscReal clearly = 1.02;
  const PetscInt  fewer   = PetscMax(rows / 2, WARP);
  Growth          other;

  PetscFunctionBegin;
  PetscCall(Grow(n, csr, PETSC_FALSE, rows, g));
  if (AreAlike(n, csr)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Grow(n, csr, PETSC_TRUE, rows, &other));
  if (other.inside >= clearly * g->inside) {
    const Growth along = *g;

    *g    = other;
    other = along;
  } else if (smaller && fewer < rows && IsAnisotropic(n, csr)) {
    PetscCall(Forget(g));
    PetscCall(Grow(n, csr, PETSC_FALSE, fewer, g));
  }
  PetscCall(Forget(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Aggregates of rows that couple, and blocks of them grown alike */
PetscErrorCode BAICreateNested(const BAI *bai, Mat Ad, BAIPartition *partition, BAICoarse *coarse)
{
  PetscInt     n, m, *aggregate, *members, *block_first, *place_first, *place_row, *qi, *qj;
  BAIInt       blocks;
  PetscScalar *qa;
  BAICSR       csr, quotient;
  Growth       g;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(PetscMalloc1(n + 1, &members));
  PetscCall(PetscMalloc1(n + 1, &block_first));
  PetscCall(PetscMalloc1(n + 1, &aggregate));
  PetscCall(PetscMalloc1(n + 1, &place_first));
  PetscCall(PetscMalloc1(n + 1, &place_row));
  PetscCall(BAIGetHostRows(Ad, &csr));
  PetscCall(GrowAggregates(n, &csr, NestedRows(&bai->use, bai->rows),
                           (PetscBool)(bai->use.coarse == PETSC_DECIDE && bai->rows <= LARGE_ROWS / 4), &g));
  m = (PetscInt)g.m;
  PetscCall(Quotient(n, &csr, m, (BAIInt *)g.first, (BAIInt *)g.row, g.aggregate, &qi, &qj, &qa));
  PetscCall(BAIRestoreHostRows(Ad, &csr));
  quotient = (BAICSR){(const BAIInt *)qi, (const BAIInt *)qj, (const BAIScalar *)qa};
  PetscCall(CheckMemory(BAIPartitionGraph((BAIInt)m, &quotient, (BAIInt)(bai->use.block_size / g.rows), &blocks,
                                          (BAIInt *)block_first, (BAIInt *)members),
                        n));
  ListBlocks((PetscInt)blocks, (BAIInt *)block_first, (BAIInt *)members, g.rows, (BAIInt *)g.first, (BAIInt *)g.row,
             place_first, place_row, aggregate);
  PetscCall(Forget(&g));
  PetscCall(PetscFree(qi));
  PetscCall(PetscFree(qj));
  PetscCall(PetscFree(qa));
  PetscCall(PetscFree(members));
  PetscCall(PetscFree(block_first));
  partition->blocks  = blocks;
  partition->first   = (const BAIInt *)place_first;
  partition->row     = (const BAIInt *)place_row;
  partition->own     = NULL;
  coarse->aggregates = (BAIInt)m;
  coarse->aggregate  = (const BAIInt *)aggregate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of a row beyond its diagonal, counted from there, in ascending order; at most so many */
static PetscInt Offsets(const BAICSR *csr, PetscInt row, PetscInt most, PetscInt offset[])
{
  PetscInt count = 0;

  for (BAIInt k = csr->i[row]; k < csr->i[row + 1]; k++) {
    const PetscInt j = (PetscInt)csr->j[k] - row;
    PetscInt       at;

    if (j <= 0) continue;
    if (count == most) return 0;
    for (at = count++; at > 0 && offset[at - 1] > j; at--) offset[at] = offset[at - 1];
    offset[at] = j;
  }
  return count;
}

/*
   A grid in natural ordering with couplings to the nearest points, of three dimensions at most, shows in the couplings
   of its first row: to the next point, the next line and the next plane. m[0] is 0 if there is none, or if some row in
   between looks otherwise, or couples more strongly in one direction than in another, where boxes are not what is
   wanted
*/
static PetscErrorCode FindGrid(PetscInt n, const BAICSR *csr, PetscInt m[3])
{
  enum {
    MOST  = 13, /* couplings of a row beyond the diagonal */
    LOOKS = 1000
  };
  const PetscReal    unlike = 4;
  const PetscScalar *a      = (const PetscScalar *)csr->a;
  PetscInt           offset[MOST], count = n ? Offsets(csr, 0, MOST, offset) : 0, line = 0, plane = 0;

  PetscFunctionBegin;
  m[0] = m[1] = m[2] = 0;
  if (!count || offset[0] != 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 1; k < count; k++) {
    if (!line) line = offset[k];
    else if (!plane && offset[k] > line + 1) plane = offset[k];
  }
  if (!line || line < 4 || n % line || (plane && (plane % line || n % plane))) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt look = 0; look < LOOKS; look++) {
    const PetscInt row   = (PetscInt)((PetscInt64)n * look / LOOKS);
    PetscReal      least = PETSC_MAX_REAL, most = 0.0;

    for (BAIInt k = csr->i[row]; k < csr->i[row + 1]; k++) {
      const PetscInt d        = PetscAbsInt((PetscInt)csr->j[k] - row),
                     in_plane = plane ? PetscMin(d % plane, plane - d % plane) : d,
                     in_line  = PetscMin(in_plane % line, line - in_plane % line);

      if (in_line > 1 || (in_plane + 1) / line > 1 || (plane && d > plane + line + 1))
        PetscFunctionReturn(PETSC_SUCCESS);
      if (d != 1 && d != line && d != plane) continue;
      least = PetscMin(least, PetscAbsScalar(a[k]));
      most  = PetscMax(most, PetscAbsScalar(a[k]));
    }
    if (most > unlike * least) PetscFunctionReturn(PETSC_SUCCESS);
  }
  m[0] = line;
  m[1] = plane ? plane / line : n / line;
  m[2] = plane ? n / plane : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many unknowns auto has in all: with more, A_c takes long to invert, or to apply. On a grid of three dimensions
 * fewer do nearly as much: boxes of 1000 rows are ten points wide */
static PetscInt Unknowns(const BAI *bai, PetscBool solid)
{
  const PetscInt usual = 2000, most = 3900, each = 250, large = 1 << 21, n = bai->rows,
                 few = n / (bai->scatter ? 32 : 64);

  if (bai->use.backend == BAI_BACKEND_HOST) return PetscMin(512, few);
  if (n > large || n / each <= usual) return PetscMin(usual, few);
  return solid ? PetscMax(usual / 2, n / 1000) : PetscMin(most, n / each);
}

/* Aggregates of so many rows, of which no blocks are made up */
static PetscErrorCode GrowAlone(PetscInt n, const BAICSR *csr, PetscInt rows, BAIInt *aggregates, PetscInt *aggregate)
{
  Growth g;

  PetscFunctionBegin;
  PetscCall(GrowAggregates(n, csr, rows, PETSC_FALSE, &g));
  *aggregates = g.m;
  PetscCall(PetscArraycpy(aggregate, g.aggregate, n));
  PetscCall(Forget(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of so many unknowns those of a rank with n rows */
static PetscInt ShareOf(const BAI *bai, PetscInt n, PetscInt unknowns)
{
  return (PetscInt)(((PetscInt64)unknowns * n + bai->rows - 1) / bai->rows);
}

/* Aggregates that have nothing to do with the blocks: boxes of the grid if there is one, else by the graph */
PetscErrorCode BAICreateCoarse(const BAI *bai, Mat Ad, BAICoarse *coarse)
{
  PetscInt  n, wanted, m[3], dof, *aggregate;
  BAICSR    csr;
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(PetscMalloc1(n + 1, &aggregate));
  coarse->aggregate = (const BAIInt *)aggregate;
  PetscCall(BAIGetGrid(bai, Ad, m, &dof));
  if (!dof) { /* only then are its rows needed on the host */
    PetscCall(BAIGetHostRows(Ad, &csr));
    PetscCall(FindGrid(n, &csr, m));
    PetscCall(BAIRestoreHostRows(Ad, &csr));
    if (m[0]) dof = 1;
  }
  wanted = PetscMin(n,
                    ShareOf(bai, n,
                            bai->use.coarse != PETSC_DECIDE ? bai->use.coarse
                                                            : Unknowns(bai, (PetscBool)(dof && m[2] > 1))));
  if (dof && wanted)
    BAIBoxesOfRows((BAIInt[]){(BAIInt)m[0], (BAIInt)m[1], (BAIInt)m[2]}, (BAIInt)dof,
                   (BAIInt)((n + wanted - 1) / wanted), &coarse->aggregates, (BAIInt *)aggregate);
  if (!dof || coarse->aggregates > BAI_MOST_COARSE) {
    PetscCall(BAIGetHostRows(Ad, &csr));
    coarse->aggregates = 0;
    if (bai->rows > NESTED_ROWS || !IsAnisotropic(n, &csr))
      status = BAIAggregate((BAIInt)n, &csr, (BAIInt)wanted, &coarse->aggregates, (BAIInt *)aggregate);
    if (wanted && bai->rows <= NESTED_ROWS && !status.code && !coarse->aggregates)
      PetscCall(GrowAlone(n, &csr, (n + wanted - 1) / wanted, &coarse->aggregates, aggregate));
    PetscCall(BAIRestoreHostRows(Ad, &csr));
    PetscCall(CheckMemory(status, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orthonormal columns on each aggregate, by Gram and Schmidt; what hardly differs from those before becomes zero */
static PetscErrorCode Orthonormalize(PetscInt n, BAIInt aggregates, const BAIInt *aggregate, PetscInt columns,
                                     PetscScalar *basis, PetscScalar *product, PetscReal *norm2)
{
  PetscFunctionBegin;
  for (PetscInt q = 0; q < columns; q++) {
    for (PetscInt twice = 0; twice < 2; twice++) {
      PetscCall(PetscArrayzero(product, aggregates * columns));
      for (PetscInt i = 0; i < n; i++) {
        for (PetscInt p = 0; p < q && aggregate[i] >= 0; p++)
          product[aggregate[i] * columns + p] += PetscConj(basis[i * columns + p]) * basis[i * columns + q];
      }
      if (!twice) {
        PetscCall(PetscArrayzero(norm2, aggregates));
        for (PetscInt i = 0; i < n; i++) {
          if (aggregate[i] >= 0)
            norm2[aggregate[i]] += PetscRealPart(PetscConj(basis[i * columns + q]) * basis[i * columns + q]);
        }
      }
      for (PetscInt i = 0; i < n; i++) {
        for (PetscInt p = 0; p < q && aggregate[i] >= 0; p++)
          basis[i * columns + q] -= product[aggregate[i] * columns + p] * basis[i * columns + p];
      }
    }
    PetscCall(PetscArrayzero(product, aggregates));
    for (PetscInt i = 0; i < n; i++) {
      if (aggregate[i] >= 0) product[aggregate[i]] += PetscConj(basis[i * columns + q]) * basis[i * columns + q];
    }
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal now = aggregate[i] < 0 ? 0.0 : PetscRealPart(product[aggregate[i]]);

      if (now > 1e-8 * (aggregate[i] < 0 ? 0.0 : norm2[aggregate[i]])) basis[i * columns + q] /= PetscSqrtReal(now);
      else basis[i * columns + q] = 0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions on the aggregates, of which there are so many on all ranks: the near null space of the matrix, or a
 * constant for each field, or just constants */
PetscErrorCode BAICreateBasis(Mat A, Mat Ad, PetscInt aggregates, BAICoarse *coarse)
{
  MatNullSpace null, near;
  PetscInt     n, bs, nvec = 0, columns;
  PetscBool    constant = PETSC_FALSE;
  const Vec   *vecs     = NULL;
  PetscScalar *basis, *product;
  PetscReal   *norm2;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(MatGetNearNullSpace(A, &near));
  coarse->columns = 1;
  if (null) PetscCall(MatNullSpaceGetVecs(null, &constant, &nvec, &vecs));
  coarse->singular = (int)constant;
  nvec             = 0;
  if (near) PetscCall(MatNullSpaceGetVecs(near, &constant, &nvec, &vecs));
  columns = near ? nvec + (constant ? 1 : 0) : bs;
  if (columns < 2 && !nvec) PetscFunctionReturn(PETSC_SUCCESS);
  if (!aggregates) PetscFunctionReturn(PETSC_SUCCESS);
  if (columns > BAI_MOST_COARSE / aggregates) {
    PetscCall(PetscInfo(Ad,
                        "%" PetscInt_FMT " functions on %" PetscInt_FMT
                        " aggregates are more than %d unknowns: constants instead\n",
                        columns, aggregates, (int)BAI_MOST_COARSE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCalloc1((size_t)n * columns + 1, &basis));
  if (near) {
    if (constant) {
      for (PetscInt i = 0; i < n; i++) basis[i * columns] = 1.0;
    }
    for (PetscInt k = 0; k < nvec; k++) {
      const PetscScalar *v;

      PetscCall(VecGetArrayRead(vecs[k], &v));
      for (PetscInt i = 0; i < n; i++) basis[i * columns + k + (constant ? 1 : 0)] = v[i];
      PetscCall(VecRestoreArrayRead(vecs[k], &v));
    }
  } else {
    for (PetscInt i = 0; i < n; i++) basis[i * columns + i % bs] = 1.0;
  }
  PetscCall(PetscMalloc2((size_t)coarse->aggregates * columns + 1, &product, coarse->aggregates + 1, &norm2));
  PetscCall(Orthonormalize(n, coarse->aggregates, coarse->aggregate, columns, basis, product, norm2));
  PetscCall(PetscFree2(product, norm2));
  coarse->columns = (BAIInt)columns;
  coarse->basis   = (const BAIScalar *)basis;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIDestroyCoarse(BAICoarse *coarse)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(coarse->aggregate));
  PetscCall(PetscFree(coarse->basis));
  PetscCall(PetscFree(coarse->ghost));
  PetscCall(PetscFree(coarse->ghost_basis));
  PetscFunctionReturn(PETSC_SUCCESS);
}
