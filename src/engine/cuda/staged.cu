/*
   The stream kernel for devices that copy to shared memory by themselves, from compute capability 9.0 on: while a tile
   is at work, the next one's matrix and b come to a second stage. So threads wait for nothing but x of other tiles, and
   keep few values in registers.

   For the queue of mode async in double precision, and blocks of consecutive rows, none of them long. Moved are the
   bytes that stream.cu moves; where tiles wait for each other that is the faster one, and in single precision once.cu
   is.
*/
#include "plan.h"
#include "sweep.h"
#include <cuda/ptx>
#include <nv/target>

enum {
  OFF = 6 /* entries outside the blocks whose x a thread has on its way at a time: more thread blocks at work gain more
             than more of these */
};

/* Threads of the launch bounds, which stand for at most 64 or 48 registers */
static constexpr int Threads(int loc)
{
  return BAI_ROW_THREADS + (loc <= 4 ? 128 : 0);
}

/* What a stage holds of a tile, in this order; each part a multiple of 16 bytes, as copies must be */
enum {
  OFF_A,
  LOC_A,
  LOC_J,
  OFF_J,
  SLICE,
  DINV,
  RHS,
  PARTS
};

static __host__ __device__ inline int Begins(const BAISliced &A, int part)
{
  int at = 0;

  if (part > OFF_A) at += A.tile_off * (int)sizeof(BAIScalar);
  if (part > LOC_A) at += A.tile_loc * (int)sizeof(BAIScalar);
  if (part > LOC_J) at += A.tile_loc * (int)sizeof(uint16_t);
  if (part > OFF_J) at += A.tile_off_j * (int)sizeof(int);
  if (part > SLICE) at += A.tile_slices * (int)sizeof(BAISlice);
  if (part > DINV) at += A.tile_rows * (int)sizeof(BAIScalar);
  if (part > RHS) at += A.tile_rows * (int)sizeof(BAIScalar);
  return at;
}

/* Rows of a tile whose b can be copied */
static __device__ inline int Copied(const BAISliced &A, const BAISweep &p, int tile)
{
  const int even = 16 / sizeof(BAIScalar) - 1; /* a mask */

  return (uintptr_t)p.b % 16 ? 0 : min(A.tile_rows, A.n - tile * A.tile_rows) & ~even;
}

/* Called by the first warp: the copies of a tile to a stage, a lane a part; full is told when all bytes are there */
static __device__ inline void Copy(const BAISliced &A, const BAISweep &p, int tile, unsigned char *stage,
                                   uint64_t *full)
{
  const int part = threadIdx.x;

  if (part >= PARTS) return;
  const BAISlice *slice = A.slice + (long long)tile * A.tile_slices, *end = slice + A.tile_slices;
  const long long first = part == OFF_A ? slice->off
    : part == OFF_J                     ? slice->off_j
                                        : slice->loc,
                  last  = part == OFF_A ? end->off
     : part == OFF_J                    ? end->off_j
                                        : end->loc;
  const void *from;
  long long   bytes;

  switch (part) {
  case OFF_A:
    from  = static_cast<const BAIScalar *>(A.off_a) + first;
    bytes = (last - first) * (int)sizeof(BAIScalar);
    break;
  case LOC_A:
    from  = static_cast<const BAIScalar *>(A.loc_a) + first;
    bytes = (last - first) * (int)sizeof(BAIScalar);
    break;
  case LOC_J:
    from  = static_cast<const uint16_t *>(A.loc_j) + first;
    bytes = (last - first) * (int)sizeof(uint16_t);
    break;
  case OFF_J:
    from  = A.off_j + first;
    bytes = (last - first) * (int)sizeof(int);
    break;
  case SLICE:
    from  = slice;
    bytes = A.tile_slices * (int)sizeof(BAISlice);
    break;
  case DINV:
    from  = static_cast<const BAIScalar *>(A.dinv) + (long long)tile * A.tile_rows;
    bytes = A.tile_rows * (int)sizeof(BAIScalar);
    break;
  default:
    from  = static_cast<const BAIScalar *>(p.b) + (long long)tile * A.tile_rows;
    bytes = Copied(A, p, tile) * (int)sizeof(BAIScalar);
    break;
  }
  NV_IF_TARGET(NV_PROVIDES_SM_90, ({
                 (void)cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                                            cuda::ptx::space_shared, full, (uint32_t)bytes);
                 if (bytes)
                   cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, stage + Begins(A, part),
                                            from, (uint32_t)bytes, full);
               }))
}

static __device__ inline void Expect(uint64_t *full)
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, ({
                 cuda::ptx::mbarrier_init(full, PARTS);
                 cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
               }))
}

static __device__ inline void Wait(uint64_t *full, int phase)
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, ({
                 while (!cuda::ptx::mbarrier_try_wait_parity(full, (uint32_t)phase)) {
                 }
               }))
}

template <int LOC, bool MORE>
static __global__ void __launch_bounds__(Threads(LOC), 2) Staged(BAISliced A, BAISweep p)
{
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ uint64_t                            full[2];
  BAIScalar                                     *y0 = reinterpret_cast<BAIScalar *>(shared), *y1 = y0 + blockDim.x;
  unsigned char                                 *stages = reinterpret_cast<unsigned char *>(y1 + blockDim.x);
  const int                                      bytes  = Begins(A, PARTS);
  int                                            step   = 0;

  if (threadIdx.x < 2) Expect(full + threadIdx.x);
  __syncthreads();
  BAIGoThroughTiles<BAI_QUEUE, BAIScalar>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int            i = threadIdx.x, lane = i % BAI_LANES, row = tile * A.tile_rows + i;
    const bool           mine = i < A.tile_rows && row < A.n;
    const BAIScalar     *x = BAIIterateOf<BAIScalar>(p, from), *ghost = static_cast<const BAIScalar *>(p.ghost);
    const unsigned char *stage = stages + (step & 1) * bytes;
    BAIScalar            xi, s, a[LOC];
    int                  j[LOC];

    if (!step && i < BAI_LANES) Copy(A, p, tile, stages, full);
    Wait(full + (step & 1), step >> 1 & 1);
    const BAISlice  *slices = reinterpret_cast<const BAISlice *>(stage + Begins(A, SLICE)), S = slices[i / BAI_LANES];
    const int        loc = (int)(S.loc - slices[0].loc) + lane, off_width = (int)S.off_width;
    const BAIScalar *loc_a = reinterpret_cast<const BAIScalar *>(stage + Begins(A, LOC_A)) + loc,
                    *off_a = reinterpret_cast<const BAIScalar *>(stage + Begins(A, OFF_A)) +
      (int)(S.off - slices[0].off) + lane;
    const uint16_t *loc_j = reinterpret_cast<const uint16_t *>(stage + Begins(A, LOC_J)) + loc;
    const int      *off_j = reinterpret_cast<const int *>(stage + Begins(A, OFF_J)) + (int)(S.off_j - slices[0].off_j) +
      (S.by_delta ? 0 : lane);
    const bool by_delta = S.by_delta;

#pragma unroll
    for (int w = 0; w < LOC; w++) {
      a[w] = w < S.loc_width ? loc_a[w * BAI_LANES] : BAIScalar(0);
      j[w] = w < S.loc_width ? (int)loc_j[w * BAI_LANES] : i;
    }
    s                    = !mine                  ? BAIScalar(0)
                         : i < Copied(A, p, tile) ? reinterpret_cast<const BAIScalar *>(stage + Begins(A, RHS))[i]
                                                  : static_cast<const BAIScalar *>(p.b)[row];
    const BAIScalar dinv = mine ? reinterpret_cast<const BAIScalar *>(stage + Begins(A, DINV))[i] : BAIScalar(0);

    turn.Begin();
    xi    = mine ? BAILoad(x + row) : BAIScalar(0);
    int k = 0;
    do {
      BAIScalar other[OFF];

#pragma unroll
      for (int w = 0; w < OFF; w++)
        other[w] = k + w < off_width
          ? BAILoadColumn<BAI_QUEUE>(A, x, ghost,
                                     BAIColumn(A, by_delta, row, off_j[(k + w) * (by_delta ? 1 : BAI_LANES)]))
          : BAIScalar(0);
      if (!k && i < BAI_LANES) { /* while x is on its way */
        const int next = turn.Next();

        if (next >= 0) Copy(A, p, next, stages + (~step & 1) * bytes, full + (~step & 1));
      }
#pragma unroll
      for (int w = 0; w < OFF; w++) {
        if (k + w < off_width) s -= off_a[(k + w) * BAI_LANES] * other[w];
      }
    } while ((k += OFF) < off_width);
    BAISweepRows<LOC, MORE>(A, p, tile, iteration, to, LOC, a, j, s, dinv, xi, mine ? row : -1, y0, y1);
    step++;
  });
}

size_t BAIStagedBytes(const BAISliced *A)
{
  return 2 * (size_t)Begins(*A, PARTS);
}

const void *BAIStagedKernel(const BAISliced *A, bool more)
{
  if (A->loc_width > 8) return NULL;
  if (more) return (const void *)Staged<8, true>;
  if (A->loc_width <= 2) return (const void *)Staged<2, false>;
  if (A->loc_width <= 4) return (const void *)Staged<4, false>;
  return (const void *)Staged<8, false>;
}
