/* The kernels of solves on the chip, and the parts that they accept */
#include "entries.h"

enum {
  STATIC_SHARED = 1024 /* largest amount of shared memory of a kernel, in bytes, that does not depend on the matrix */
};

const BAIChipShape BAIChipShapes[] = {
#define SHAPE(Matrix, length, threads) {length, Matrix::ROWS_EACH, threads},
  CHIP_SHAPES(SHAPE)
#undef SHAPE
};

/* Bytes of shared memory that a thread block needs for its part */
static size_t SharedOf(const BAIChipMatrix &A, bool bicgstab)
{
  const size_t sums  = bicgstab ? 8 : 4;
  size_t       bytes = ((size_t)A.rows_most * 4 + (size_t)A.halo_most + 2 * sums * WARP) * sizeof(BAIReal);

  if (!A.width)
    bytes += ((size_t)A.rows_most + (size_t)A.entries_most) * sizeof(BAIReal) +
      ((size_t)A.rows_most + 1) * sizeof(int) + ((size_t)A.rows_most + (size_t)A.entries_most) * sizeof(unsigned short);
  return bytes;
}

BAIStatus BAIChipPlan(BAIChip *chip, int shape, BAIChipParts *parts, bool *fits)
{
  const BAIChipShape &S = BAIChipShapes[shape];
  int                 device, most, blocks;

  *fits = false;
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  parts->kernel  = (chip->bicgstab ? BAIChipBiCGStab : BAIChipPipelined)[shape];
  parts->shared  = SharedOf(parts->A, chip->bicgstab);
  parts->threads = (parts->A.rows_most + S.each - 1) / S.each;
  parts->threads = (parts->threads + WARP - 1) / WARP * WARP + WARP;
  if (!parts->A.width) parts->threads = S.threads + WARP;
  if (parts->shared + STATIC_SHARED > (size_t)most) return BAIStatusOf(BAI_OK);
  BAITry(BAIAllowShared(parts->kernel, parts->shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, parts->kernel, parts->threads, parts->shared));
  parts->at_once = blocks * chip->context->processors / parts->A.parts;
  *fits          = parts->at_once > 0;
  return BAIStatusOf(BAI_OK);
}
