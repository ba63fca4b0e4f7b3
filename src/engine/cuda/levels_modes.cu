/*
   Levels with modes on a device: P of a level, and P^H A P. What is found here is what host/modes.c and host/product.c
   find, in the same order, and products and sums are not fused
*/
#include "levels.h"

enum {
  THREADS = 256,
  FEW     = 32 /* threads that do a whole aggregate each: in small blocks they are spread over more multiprocessors */
};

static __global__ void Expand(int n, int rows, const int *from, int *to)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) to[i] = from ? from[i / rows] : i / rows;
}

BAIStatus BAIExpand(BAILevelsState state, int n, int rows, const int *from, int *to)
{
  Expand<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, rows, from, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Sum of conj(x) y over the rows of an aggregate */
static __device__ inline BAIScalar Dot(const unsigned *row, int count, int modes, const BAIScalar *x,
                                       const BAIScalar *y)
{
  BAIScalar sum = 0;

  for (int l = 0; l < count; l++) sum += BAIConj(x[(long long)row[l] * modes]) * y[(long long)row[l] * modes];
  return sum;
}

/* A thread an aggregate; see host/modes.c */
static __global__ __launch_bounds__(FEW) void Orthonormalize(int m, const int *first, const unsigned *list, int modes,
                                                             const BAIScalar *mode, long long row_step,
                                                             long long mode_step, BAIScalar *P, BAIScalar *next)
{
  const int c = (int)(blockIdx.x * FEW + threadIdx.x);

  if (c >= m) return;
  const unsigned *row   = list + first[c];
  const int       count = first[c + 1] - first[c];
  BAIScalar      *r     = next + (long long)c * modes * modes;

  for (int k = 0; k < modes; k++) {
    for (int l = 0; l < count; l++) P[(long long)row[l] * modes + k] = mode[row[l] * row_step + k * mode_step];
    for (int i = 0; i < modes; i++) r[i * modes + k] = 0;
    const BAIReal before = (BAIReal)sqrt((double)BAIRealPart(Dot(row, count, modes, P + k, P + k)));

    for (int twice = 0; twice < 2; twice++) {
      for (int i = 0; i < k; i++) {
        const BAIScalar s = Dot(row, count, modes, P + i, P + k);

        r[i * modes + k] += s;
        for (int l = 0; l < count; l++) P[(long long)row[l] * modes + k] -= s * P[(long long)row[l] * modes + i];
      }
    }
    BAIReal norm = (BAIReal)sqrt((double)BAIRealPart(Dot(row, count, modes, P + k, P + k)));

    if (!(norm > BAI_MODES_DEPENDENT * before)) norm = 0;
    r[k * modes + k] = norm;
    for (int l = 0; l < count; l++) {
      BAIScalar *p = &P[(long long)row[l] * modes + k];

      *p = norm > 0 ? *p * (1 / norm) : BAIScalar(0);
    }
  }
}

BAIStatus BAIModes(BAILevelsState state, int n, int m, const int *first, const unsigned *list, const BAIScalar *mode,
                   long long row_step, long long mode_step, BAIScalar *P, BAIScalar *next)
{
  const int modes = state->p.modes;

  CUDATry(cudaMemsetAsync(P, 0, (size_t)n * (size_t)modes * sizeof(*P), state->s.stream)); /* of rows in no aggregate */
  Orthonormalize<<<BAIGrid(m, FEW), FEW, 0, state->s.stream>>>(m, first, list, modes, mode, row_step, mode_step, P,
                                                               next);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* What ModeSums() is told: A and P, which of A's entries go to which pair of aggregates, and where the result goes */
struct ModeSum {
  BAIDeviceRows    A, pattern;
  const int       *a_of_row, *pattern_of_row, *first;
  const unsigned  *entry;
  const BAIScalar *P;
  BAIScalar       *values;
  int             *i, *j, *of_row; /* NULL: only values are new */
};

/* A thread one column of one pair of aggregates, of which it sums up all rows. A row of A times P comes first, as in
 * host/product.c */
static __global__ __launch_bounds__(THREADS) void ModeSums(ModeSum s, int modes)
{
  const long long thread = blockIdx.x * (long long)THREADS + threadIdx.x;
  const int       g = (int)(thread / modes), o = (int)(thread % modes);
  BAIScalar       sum[BAI_LEVELS_MODES], t     = 0;
  int             last = -1;

  if (g >= s.pattern.nnz) return;
#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) sum[k] = 0;
  for (int e = s.first[g]; e <= s.first[g + 1]; e++) {
    const bool     more = e < s.first[g + 1];
    const unsigned at   = more ? s.entry[e] : 0;
    const int      row  = more ? s.a_of_row[at] : -1;

    if (row != last) {
#pragma unroll
      for (int k = 0; k < BAI_LEVELS_MODES; k++)
        if (last >= 0 && k < modes) sum[k] += BAIConj(s.P[(long long)last * modes + k]) * t;
      t    = 0;
      last = row;
    }
    if (more) t += s.A.a[at] * s.P[(long long)s.A.j[at] * modes + o];
  }
  const int       c = s.pattern_of_row[g], begin = s.pattern.i[c], width = (s.pattern.i[c + 1] - begin) * modes;
  const long long base = (long long)begin * modes * modes + (long long)(g - begin) * modes + o;

#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) {
    if (k >= modes) break;
    const long long to = base + (long long)k * width;

    s.values[to] = sum[k];
    if (!s.j) continue;
    s.j[to]      = s.pattern.j[g] * modes + o;
    s.of_row[to] = c * modes + k;
    if (g == begin && !o) s.i[c * modes + k] = (int)to;
  }
  if (s.j && !thread) s.i[s.pattern.n * modes] = (int)(s.pattern.nnz * modes * modes);
}

BAIStatus BAIModesValues(BAILevelsState state, const BAIDeviceLevel *L, const BAIDeviceLevel *next, bool pattern)
{
  const int     modes = state->p.modes;
  const ModeSum s     = {L->A,
                         L->gather.pattern,
                         L->of_row,
                         L->gather.of_row,
                         L->gather.first,
                         L->gather.entry,
                         L->P,
                         next->values,
                     pattern ? (int *)next->A.i : NULL,
                     pattern ? (int *)next->A.j : NULL,
                     pattern ? next->of_row : NULL};

  ModeSums<<<BAIGrid(s.pattern.nnz * modes, THREADS), THREADS, 0, state->s.stream>>>(s, modes);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIModesGalerkin(BAILevelsState state, BAIDeviceLevel *L, BAIDeviceLevel *next)
{
  const int  modes = state->p.modes, n = L->m * modes;
  int       *i, *j;
  BAIScalar *sums;

  BAITry(BAIGalerkin(state, &L->A, L->of_row, L->m, L->aggregate, 1, &L->gather, &L->gather.pattern, &sums,
                     &L->gather.of_row));
  BAICUDAFree(&state->s, (size_t)L->gather.pattern.nnz * sizeof(*sums), sums);
  L->gather.pattern.a = NULL;
  const long long nnz = L->gather.pattern.nnz * modes * modes;

  if (nnz > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  BAITry(BAICUDAAllocate(&state->s, ((size_t)n + 1) * sizeof(int), &i));
  BAITry(BAICUDAAllocate(&state->s, (size_t)nnz * sizeof(int), &j));
  BAITry(BAICUDAAllocate(&state->s, (size_t)nnz * sizeof(int), &next->of_row));
  BAITry(BAICUDAAllocate(&state->s, (size_t)nnz * sizeof(BAIScalar), &next->values));
  next->A = {n, 0, nnz, i, j, next->values};
  return BAIModesValues(state, L, next, true);
}
