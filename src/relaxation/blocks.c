/* The partition of rows into blocks */
#include "../petsc/baiimpl.h"
#include "partition.h"
#include "tuning.h"

/* The number of rows of a block, as the options ask or chosen so that all unknowns of a point are in one block; Ad has
   the local rows and columns of the matrix */
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

/* The partition of the options. Auto is natural until set-up finds graph better */
BAIPartitionType BAIPartitionOf(const BAI *bai)
{
  const PetscBool found = (PetscBool)(bai->relax.engine && bai->set.partition == BAI_PARTITION_AUTO &&
                                      bai->relax.use.partition == BAI_PARTITION_GRAPH);

  if (bai->options.partition != BAI_PARTITION_AUTO) return bai->options.partition;
  return found ? BAI_PARTITION_GRAPH : BAI_PARTITION_NATURAL;
}

/* Raises the error of a partition of this rank's n rows */
static PetscErrorCode CheckStatus(BAIStatus status, PetscInt n)
{
  PetscFunctionBegin;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory for the partition of %" PetscInt_FMT " rows",
             n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether blocks of consecutive rows contain so few entries that local sweeps are useless, and no row has more
   couplings than a block has rows: blocks around such rows contain little of them, and take long. others is the average
   number of couplings of a row to other ranks. It examines some rows first, which may save examining all
*/
static PetscBool HardlyCouple(const BAICSR *A, PetscInt n, PetscInt block_size, double others)
{
  for (int all_rows = 0; all_rows < 2; all_rows++) {
    const PetscInt step   = all_rows ? 1 : PetscMax(1, n / BAI_PARTITION_LOOKS);
    double         inside = 0, all = 0;

    for (PetscInt row = 0; row < n; row += step) {
      const PetscInt first = row - row % block_size;

      if (A->i[row + 1] - A->i[row] > block_size) return PETSC_FALSE;
      all += others;
      for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
        inside += A->j[k] != row && A->j[k] >= first && A->j[k] < first + block_size;
        all += A->j[k] != row;
      }
    }
    if (inside >= (all_rows ? 1 : 2) * BAI_FEW_INSIDE * all) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/*
   Finds the partition that auto stands for: graph if consecutive rows hardly couple; for PCBAI also graph along strong
   couplings, if that leaves much less outside than consecutive rows. The latter is not tried for points of several
   unknowns, which it would separate, nor for a product P^T A P, as couplings between blocks matter little on a coarse
   level of multigrid
*/
PetscErrorCode BAIFindPartition(const BAI *bai, Mat Ad, BAIPartitionType *type, PetscBool *strong)
{
  const PetscInt block_size = bai->relax.use.block_size;
  BAICSR         csr;
  MatProductType product;
  MatInfo        local, own;
  PetscInt       n, bs;
  double         consecutive, grown;

  PetscFunctionBegin;
  *strong = PETSC_FALSE;
  *type   = BAI_PARTITION_NATURAL;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  if (n > BAI_MOST_PARTITION_ROWS || n <= block_size || block_size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSize(bai->relax.A, &bs));
  PetscCall(MatProductGetType(bai->relax.A, &product));
  PetscCall(MatGetInfo(bai->relax.A, MAT_LOCAL, &local));
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &own));
  if (!bai->face->solves && product != MATPRODUCT_PtAP && bs == 1) {
    PetscCall(BAIGetHostRows(Ad, PETSC_TRUE, &csr));
    PetscCall(CheckStatus(BAIPartitionTry((BAIInt)n, &csr, (BAIInt)block_size, &consecutive, &grown), n));
    PetscCall(BAIRestoreHostRows(Ad, &csr));
    *strong = (PetscBool)(grown < BAI_MUCH_LESS_OUTSIDE * consecutive);
    PetscCall(PetscInfo(bai->obj,
                        "Blocks of consecutive rows leave %g of the sum of |a_ij| outside, blocks along strong "
                        "couplings would leave %g\n",
                        consecutive, grown));
  }
  PetscCall(BAIGetHostRows(Ad, PETSC_FALSE, &csr));
  if (*strong || HardlyCouple(&csr, n, block_size, (local.nz_used - own.nz_used) / (double)n))
    *type = BAI_PARTITION_GRAPH;
  PetscCall(BAIRestoreHostRows(Ad, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets first, row and the number of blocks, by the graph of the matrix */
static PetscErrorCode PartitionByGraph(const BAI *bai, Mat Ad, PetscInt n, BAIPartition *partition, BAIInt *first,
                                       BAIInt *row)
{
  const PetscBool pattern = (PetscBool)(bai->options.partition == BAI_PARTITION_AUTO && !bai->relax.strong);
  /* auto examines only the pattern, and so does the partition, so that it does not depend on the first values */
  BAICSR csr;

  PetscFunctionBegin;
  PetscCall(BAIGetHostRows(Ad, (PetscBool)!pattern, &csr));
  PetscCall(
    CheckStatus(BAIPartitionGraph(n, &csr, (BAIInt)bai->relax.use.block_size, &partition->blocks, first, row), n));
  PetscCall(BAIRestoreHostRows(Ad, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the partition of this rank; its first is NULL for BAI_PARTITION_NATURAL */
PetscErrorCode BAICreatePartition(const BAI *bai, Mat Ad, BAIPartition *partition)
{
  PetscInt n, *first, *row;

  PetscFunctionBegin;
  partition->first = NULL;
  partition->row   = NULL;
  if (bai->relax.use.partition == BAI_PARTITION_NATURAL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(PetscMalloc1(n + 1, &first));
  PetscCall(PetscMalloc1(n + 1, &row));
  PetscCall(PartitionByGraph(bai, Ad, n, partition, (BAIInt *)first, (BAIInt *)row));
  partition->first = (const BAIInt *)first;
  partition->row   = (const BAIInt *)row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIDestroyPartition(BAIPartition *partition)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(partition->first));
  PetscCall(PetscFree(partition->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}
