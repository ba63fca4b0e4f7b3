/*
   Which rows go into which block
*/
#include "../petsc/baiimpl.h"
#include "partition.h"
#include "tuning.h"
#include <petscdmda.h>
#include <petsc/private/petscimpl.h>

/* Rows of a block, asked for or chosen, so that no node is cut; Ad are the local rows and columns of the matrix */
PetscErrorCode BAIChooseBlockSize(const BAI *bai, Mat Ad, PetscInt *block_size)
{
  PetscInt n, bs, rows = bai->options.block_size;
  MatInfo  info;

  PetscFunctionBegin;
  *block_size = rows;
  if (rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSize(Ad, &bs));
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
  if (bs > BAI_MOST_FIELDS) bs = 1;
  rows = n / BAI_POLYNOMIAL_BLOCKS / BAI_LEAST_BLOCK * BAI_LEAST_BLOCK;
  rows = bai->relax.crowded ? PetscMin(BAI_SMOOTHER_BLOCK, PetscMax(BAI_LEAST_BLOCK, rows)) : BAI_SMOOTHER_BLOCK;
  if (n >= BAI_LARGE_ROWS && info.nz_used <= BAI_LARGE_ENTRIES * (PetscLogDouble)n) rows = BAI_LARGE_BLOCK;
  if (bai->face->solves) rows = BAI_SOLVER_BLOCK;
  *block_size = rows - rows % bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The box of the grid that this rank owns, if there is a DMDA with as many rows as the matrix; else dof is 0 */
static PetscErrorCode GetGrid(const BAI *bai, Mat A, PetscInt m[3], PetscInt *dof)
{
  DM        dm;
  PetscBool da = PETSC_FALSE;
  PetscInt  n;

  PetscFunctionBegin;
  *dof = 0;
  PetscCall((*bai->face->getdm)(bai->obj, &dm));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &da));
  if (!da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetCorners(dm, NULL, NULL, NULL, &m[0], &m[1], &m[2]));
  PetscCall(DMDAGetInfo(dm, NULL, NULL, NULL, NULL, NULL, NULL, NULL, dof, NULL, NULL, NULL, NULL, NULL));
  for (int d = 1; d < 3; d++) m[d] = PetscMax(m[d], 1);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  if (m[0] * m[1] * m[2] * *dof != n) *dof = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What BAI_PARTITION_AUTO stands for to begin with, or was found to stand for; Ad are the local rows and columns of the
 * matrix */
PetscErrorCode BAIChoosePartition(const BAI *bai, Mat Ad, BAIPartitionType *type)
{
  PetscInt m[3], dof;

  PetscFunctionBegin;
  *type = bai->options.partition;
  if (*type == BAI_PARTITION_AUTO)
    *type = bai->relax.engine && bai->set.partition == BAI_PARTITION_AUTO &&
        bai->relax.use.partition == BAI_PARTITION_GRAPH
      ? BAI_PARTITION_GRAPH
      : BAI_PARTITION_NATURAL;
  if (*type == BAI_PARTITION_DM) {
    PetscCall(GetGrid(bai, Ad, m, &dof));
    PetscCheck(dof, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "-%s_bai_partition dm: there is no DMDA with the rows of this matrix; see %sSetDM()", bai->face->name,
               bai->face->prefix);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows in reverse Cuthill-McKee order */
static PetscErrorCode OrderRows(Mat Ad, PetscInt n, PetscInt *row)
{
  IS              rows, cols;
  const PetscInt *order;

  PetscFunctionBegin;
  PetscCall(MatGetOrdering(Ad, MATORDERINGRCM, &rows, &cols));
  PetscCall(ISGetIndices(rows, &order));
  PetscCall(PetscArraycpy(row, order, n));
  PetscCall(ISRestoreIndices(rows, &order));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rows couple to which, on the host */
static PetscErrorCode GetPattern(Mat Ad, BAICSR *pattern)
{
  PetscInt  rows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &rows, (const PetscInt **)&pattern->i,
                        (const PetscInt **)&pattern->j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot get the rows of the matrix on the host");
  pattern->a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestorePattern(Mat Ad, BAICSR *pattern)
{
  PetscInt  rows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatRestoreRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &rows, (const PetscInt **)&pattern->i,
                            (const PetscInt **)&pattern->j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Consecutive rows hardly couple, so that their local sweeps are in vain, there are not so many rows that better blocks
   would be dear, and no row couples to so many that a block cannot hold them: blocks around such rows hold little of
   them, and take long
*/
PetscErrorCode BAIWantsGraph(const BAI *bai, Mat Ad, PetscInt n, PetscBool *wants)
{
  BAICSR csr;

  PetscFunctionBegin;
  *wants = (PetscBool)(n <= BAI_MOST_PARTITION_ROWS && bai->relax.info.block_size > 1 && bai->relax.info.blocks > 1 &&
                       bai->relax.info.nnz_local <
                         BAI_FEW_INSIDE * (double)(bai->relax.info.nnz_local + bai->relax.info.nnz_off));
  if (!*wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetPattern(Ad, &csr));
  for (PetscInt row = 0; row < n && *wants; row++)
    *wants = (PetscBool)(csr.i[row + 1] - csr.i[row] <= bai->relax.info.block_size);
  PetscCall(RestorePattern(Ad, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with values */
static PetscErrorCode GetHostRows(Mat Ad, BAICSR *csr)
{
  PetscFunctionBegin;
  PetscCall(GetPattern(Ad, csr));
  PetscCall(MatSeqAIJGetArrayRead(Ad, (const PetscScalar **)&csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreHostRows(Mat Ad, BAICSR *csr)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreArrayRead(Ad, (const PetscScalar **)&csr->a));
  PetscCall(RestorePattern(Ad, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckStatus(BAIStatus status, PetscInt n)
{
  PetscFunctionBegin;
  PetscCheck(status.code != BAI_ERR_SIZE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Blocks of %" PetscInt_FMT " rows have more rows with their overlap than an index can count", n);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory for the partition of %" PetscInt_FMT " rows",
             n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PCBAI: blocks grown along strong couplings leave much less outside than consecutive rows. Not where rows are nodes of several unknowns, which such blocks would cut, nor for a
   product P^T A P: what is between its blocks matters little on a coarse level of multigrid
*/
PetscErrorCode BAIWantsStrong(const BAI *bai, Mat Ad, PetscBool *wants)
{
  BAICSR         csr;
  MatProductType product;
  PetscInt       n, bs;
  double         consecutive, grown;

  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(MatGetBlockSize(bai->relax.A, &bs));
  PetscCall(MatProductGetType(bai->relax.A, &product));
  if (bai->face->solves || product == MATPRODUCT_PtAP || bs > 1 || n > BAI_MOST_PARTITION_ROWS ||
      n <= bai->relax.use.block_size || bai->relax.use.block_size == 1)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetHostRows(Ad, &csr));
  PetscCall(CheckStatus(BAIPartitionTry((BAIInt)n, &csr, (BAIInt)bai->relax.use.block_size, &consecutive, &grown), n));
  PetscCall(RestoreHostRows(Ad, &csr));
  *wants = (PetscBool)(grown < BAI_MUCH_LESS_OUTSIDE * consecutive);
  PetscCall(PetscInfo(
    bai->obj,
    "Blocks of consecutive rows leave %g of the sum of |a_ij| outside, blocks along strong couplings would leave %g\n",
    consecutive, grown));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartitionByMatrix(const BAI *bai, Mat Ad, BAIPartitionType type, PetscInt n, BAIInt *blocks,
                                        BAIInt *first, BAIInt *row)
{
  const BAIInt       block_size = (BAIInt)bai->relax.use.block_size;
  BAICSR             csr;
  const PetscScalar *a;
  BAIStatus          status;

  PetscFunctionBegin;
  if (type == BAI_PARTITION_RCM) PetscCall(OrderRows(Ad, n, (PetscInt *)row));
  PetscCall(GetPattern(Ad, &csr));
  PetscCall(MatSeqAIJGetArrayRead(Ad, &a));
  if (bai->options.partition != BAI_PARTITION_AUTO || bai->relax.strong)
    csr.a = (const BAIScalar *)
      a; /* where auto looks at the pattern only, so do the blocks, and not at which values came first */
  if (type == BAI_PARTITION_RCM) status = BAIPartitionOrder(n, &csr, block_size, blocks, first, row);
  else status = BAIPartitionGraph(n, &csr, block_size, blocks, first, row);
  PetscCall(CheckStatus(status, n));
  PetscCall(MatSeqAIJRestoreArrayRead(Ad, &a));
  PetscCall(RestorePattern(Ad, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void PartitionInOrder(PetscInt n, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row)
{
  *blocks = 0;
  for (BAIInt p = 0; p < n; p++) {
    if (p % block_size == 0) first[(*blocks)++] = p;
    row[p] = p;
  }
  first[*blocks] = n;
}

/* Extends the blocks by the rows that they couple to over so many steps */
static PetscErrorCode ExtendPartition(Mat Ad, PetscInt n, PetscInt overlap, BAIPartition *partition)
{
  BAICSR    csr;
  PetscInt *first, *own, *row;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(partition->blocks + 1, &first));
  PetscCall(PetscMalloc1(partition->blocks + 1, &own));
  PetscCall(GetPattern(Ad, &csr));
  PetscCall(CheckStatus(BAIPartitionOverlap(n, &csr, overlap, partition, (BAIInt *)first, (BAIInt *)own, NULL), n));
  PetscCall(PetscMalloc1(first[partition->blocks] + 1, &row));
  PetscCall(
    CheckStatus(BAIPartitionOverlap(n, &csr, overlap, partition, (BAIInt *)first, (BAIInt *)own, (BAIInt *)row), n));
  PetscCall(RestorePattern(Ad, &csr));
  PetscCall(BAIDestroyPartition(partition));
  partition->first = (const BAIInt *)first;
  partition->own   = (const BAIInt *)own;
  partition->row   = (const BAIInt *)row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On this rank; nothing for BAI_PARTITION_NATURAL without overlap */
PetscErrorCode BAICreatePartition(const BAI *bai, Mat Ad, PetscInt overlap, BAIPartition *partition)
{
  const BAIPartitionType type = bai->relax.use.partition;
  PetscInt               n, m[3], dof, *first, *row;

  PetscFunctionBegin;
  partition->first = NULL;
  partition->own   = NULL;
  partition->row   = NULL;
  if (type == BAI_PARTITION_NATURAL && !overlap) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(PetscMalloc1(n + 1, &first));
  PetscCall(PetscMalloc1(n + 1, &row));
  if (type == BAI_PARTITION_NATURAL)
    PartitionInOrder(n, (BAIInt)bai->relax.use.block_size, &partition->blocks, (BAIInt *)first, (BAIInt *)row);
  else if (type == BAI_PARTITION_DM) {
    PetscCall(GetGrid(bai, Ad, m, &dof));
    PetscCheck(!BAIPartitionBoxes((BAIInt[]){m[0], m[1], m[2]}, dof, (BAIInt)bai->relax.use.block_size,
                                  &partition->blocks, (BAIInt *)first, (BAIInt *)row)
                  .code,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "Boxes of the grid");
  } else PetscCall(PartitionByMatrix(bai, Ad, type, n, &partition->blocks, (BAIInt *)first, (BAIInt *)row));
  partition->first = (const BAIInt *)first;
  partition->row   = (const BAIInt *)row;
  if (overlap) PetscCall(ExtendPartition(Ad, n, overlap, partition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIDestroyPartition(BAIPartition *partition)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(partition->first));
  PetscCall(PetscFree(partition->own));
  PetscCall(PetscFree(partition->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}
