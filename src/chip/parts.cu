/*
   Set-up of a matrix that stays on the chip, see chip.h

   Parts are boxes of points, if rows are a grid in natural ordering, otherwise consecutive rows. The places that a part
   reads outside of it, its halo, are marked in a bit set of all places in shared memory; the number of bits before a
   place is its number in the halo

   For many right-hand sides the matrix has a second set of parts, see MakeMany()
*/
#include "../common/cuda/warp.h"
#include "chip.h"
#include "tuning.h"
#include <float.h>

enum {
  THREADS = 256,
  BITS    = 32
};

/* How rows are divided into parts */
struct Cut {
  int  n, parts;
  int  m[3], boxes[3]; /* points and boxes of a grid; boxes[0] is 0 without a grid */
  bool even;           /* without a grid: parts have equal numbers of rows, otherwise of entries */
};

/* The first point of box k of a line of m points divided into boxes boxes */
static __host__ __device__ inline int BoxBegin(int m, int boxes, int k)
{
  return (int)((long long)m * k / boxes);
}

/* The first row of part k of consecutive rows */
static __device__ int PartBegin(const Cut &cut, const int *i, int k)
{
  if (cut.even) return (int)((long long)cut.n * k / cut.parts);
  const long long wanted = ((long long)i[cut.n] + (long long)BAI_CHIP_PER_ROW * cut.n) * k / cut.parts;
  int             low = 0, high = cut.n;

  while (low < high) {
    const int middle = low + (high - low) / 2;

    if ((long long)i[middle] + (long long)BAI_CHIP_PER_ROW * middle < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The row at place l of a part, or -1; and in rows the number of rows of the part */
static __device__ int RowAt(const Cut &cut, const int *i, int part, int l, int *rows)
{
  if (!cut.boxes[0]) {
    const int begin = PartBegin(cut, i, part);

    *rows = PartBegin(cut, i, part + 1) - begin;
    return l < *rows ? begin + l : -1;
  }
  const int box[3] = {part % cut.boxes[0], part / cut.boxes[0] % cut.boxes[1], part / cut.boxes[0] / cut.boxes[1]};
  int       begin[3], size[3];

  for (int d = 0; d < 3; d++) {
    begin[d] = BoxBegin(cut.m[d], cut.boxes[d], box[d]);
    size[d]  = BoxBegin(cut.m[d], cut.boxes[d], box[d] + 1) - begin[d];
  }
  *rows = size[0] * size[1] * size[2];
  if (l >= *rows) return -1;
  return ((begin[2] + l / size[0] / size[1]) * cut.m[1] + begin[1] + l / size[0] % size[1]) * cut.m[0] + begin[0] +
    l % size[0];
}

/* Finds the rows of each part, and the row at each place; or without places only the largest number of rows of a
   part */
static __global__ void NumberPlaces(Cut cut, const int *i, BAIChipMatrix M, int *place, int *most)
{
  const int part = (int)blockIdx.x;
  int       rows;

  (void)RowAt(cut, i, part, 0, &rows);
  if (!threadIdx.x && most) atomicMax(most, rows);
  if (!threadIdx.x && !most) M.rows[part] = rows;
  for (int l = (int)threadIdx.x; !most && l < M.rows_most; l += (int)blockDim.x) {
    const int row = RowAt(cut, i, part, l, &rows);

    M.row[part * M.rows_most + l] = row;
    if (row >= 0) place[row] = part * M.rows_most + l;
  }
}

/* Maxima over all parts */
struct Largest {
  int                halos, entries;
  unsigned long long inside; /* sum over all parts of the entries inside */
};

/* Marks the places outside that the part reads in bits, in shared memory; all threads call it */
static __device__ void Mark(const BAIRows &A, const BAIChipMatrix &M, const int *place, int words, unsigned *bits)
{
  const int part = (int)blockIdx.x, begin = part * M.rows_most, end = begin + M.rows_most;

  for (int w = (int)threadIdx.x; w < words; w += THREADS) bits[w] = 0;
  __syncthreads();
  for (int l = (int)threadIdx.x; l < M.rows[part]; l += THREADS) {
    const int row = M.row[begin + l];

    for (int k = A.i[row]; k < A.i[row + 1]; k++) {
      const int q = place[A.j[k]];

      if (q < begin || q >= end) atomicOr(&bits[q / BITS], 1u << q % BITS);
    }
  }
  __syncthreads();
}

/* Number of lanes that share a row: with too many, rows of few entries leave some idle; with too few, a long row takes
   long */
static __device__ int LanesFor(int rows, int entries, int longest, int threads)
{
  enum {
    AT_ONCE = 4
  };
  long long least = -1;
  int       best  = 1;

  for (int lanes = 1; lanes <= 32; lanes *= 2) {
    const int       each = AT_ONCE * lanes, mean = rows ? (entries + rows - 1) / rows : 0;
    const long long loads = (long long)((rows * lanes + threads - 1) / threads) * ((mean + each - 1) / each) +
      (longest + each - 1) / each;

    if (least >= 0 && loads >= least) continue;
    least = loads;
    best  = lanes;
  }
  return best;
}

/* Counts the places outside that each part reads, which are its halo, and sets M.halos and M.lanes. Collects in largest
   what memory must be allocated for */
static __global__ __launch_bounds__(THREADS) void CountHalos(BAIRows A, BAIChipMatrix M, const int *place, int words,
                                                             Largest *largest)
{
  extern __shared__ unsigned bits[];
  __shared__ int             halos, entries, inside, longest;
  const int                  begin = (int)blockIdx.x * M.rows_most, end = begin + M.rows_most;

  if (!threadIdx.x) halos = entries = inside = longest = 0;
  Mark(A, M, place, words, bits);
  for (int w = (int)threadIdx.x; w < words; w += THREADS)
    if (bits[w]) atomicAdd(&halos, __popc(bits[w]));
  for (int l = (int)threadIdx.x; l < M.rows[blockIdx.x]; l += THREADS) {
    const int row = M.row[begin + l];
    int       in  = 0;

    for (int k = A.i[row]; k < A.i[row + 1]; k++) {
      const int q = place[A.j[k]];

      in += A.j[k] != row && q >= begin && q < end;
    }
    atomicAdd(&entries, A.i[row + 1] - A.i[row]);
    atomicMax(&longest, A.i[row + 1] - A.i[row]);
    atomicAdd(&inside, in);
  }
  __syncthreads();
  if (threadIdx.x) return;
  M.halos[blockIdx.x] = halos;
  M.lanes[blockIdx.x] = LanesFor(M.rows[blockIdx.x], entries, longest, THREADS);
  atomicMax(&largest->halos, halos);
  atomicMax(&largest->entries, entries);
  atomicAdd(&largest->inside, (unsigned long long)inside);
}

/* Stores the places of each halo, the columns of entries, those inside the part first, and their number in M.inside;
   and, unless rows have a fixed width, the first entry of each row */
static __global__ __launch_bounds__(THREADS) void FillPattern(BAIRows A, BAIChipMatrix M, const int *place, int words)
{
  extern __shared__ unsigned bits[]; /* later the number of bits before each word */
  int                       *before = reinterpret_cast<int *>(bits + words);
  const int                  part = (int)blockIdx.x, begin = part * M.rows_most, end = begin + M.rows_most;
  int                        sum = 0, all;

  Mark(A, M, place, words, bits);
  for (int base = 0; base < words; base += THREADS) {
    const int w = base + (int)threadIdx.x, number = BAISumBeforeInBlock<THREADS>(w < words ? __popc(bits[w]) : 0, &all);

    if (w < words) before[w] = sum + number;
    sum += all;
    __syncthreads();
    unsigned rest = w < words ? bits[w] : 0;

    for (int k = 0; rest; k++, rest &= rest - 1)
      M.halo[(size_t)part * M.halo_most + before[w] + k] = w * BITS + __ffs((int)rest) - 1;
  }
  if (!M.width) {
    sum = 0;
    for (int base = 0; base <= M.rows[part]; base += THREADS) {
      const int l = base + (int)threadIdx.x, row = l < M.rows[part] ? M.row[begin + l] : -1;
      int       count = 0;

      for (int k = row >= 0 ? A.i[row] : 0; row >= 0 && k < A.i[row + 1]; k++) count += A.j[k] != row;
      const int number = BAISumBeforeInBlock<THREADS>(count, &all);

      if (l <= M.rows[part]) M.first[(size_t)part * (M.rows_most + 1) + l] = sum + number;
      sum += all;
      __syncthreads();
    }
  }
  __syncthreads();
  for (int l = (int)threadIdx.x; l < M.rows[part]; l += THREADS) {
    const int    row   = M.row[begin + l];
    const size_t at    = M.width ? (size_t)part * M.width * M.rows_most + l
                                 : (size_t)part * M.entries_most + M.first[(size_t)part * (M.rows_most + 1) + l];
    const int    step  = M.width ? M.rows_most : 1;
    int          count = 0;

    for (int outside = 0; outside < 2; outside++) {
      for (int k = A.i[row]; k < A.i[row + 1]; k++) {
        const int q = place[A.j[k]];

        if (A.j[k] == row || (q < begin || q >= end) != outside) continue;
        M.j[at + (size_t)count * step] = (unsigned short)(outside ? M.rows_most + before[q / BITS] +
                                                              __popc(bits[q / BITS] & ((1u << q % BITS) - 1))
                                                                  : q - begin);
        count++;
      }
      if (!outside) M.inside[begin + l] = (unsigned short)count;
    }
    for (; count < M.width; count++) M.j[at + (size_t)count * step] = 0;
  }
}

/* Computes 1/a_ii for each row, or, if A is Hermitian, 1/sqrt(a_ii), so that L A R is Hermitian too */
static __global__ void Scalings(BAIRows A, bool hermitian, BAIReal *scaling)
{
  const int      row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const BAIReal *a   = reinterpret_cast<const BAIReal *>(A.a);
  BAIReal        d   = 0;

  if (row >= A.n) return;
  for (int k = A.i[row]; k < A.i[row + 1]; k++)
    if (A.j[k] == row) d += a[k];
  scaling[row] = hermitian ? 1 / sqrt(d) : 1 / d;
}

/* Stores the values of L A R in the order of FillPattern(), L and R, and the heaviest row of each part in M.heaviest */
static __global__ __launch_bounds__(THREADS) void FillValues(BAIRows A, BAIChipMatrix M, const int *place,
                                                             bool hermitian, const BAIReal *scaling)
{
  __shared__ unsigned heaviest; /* bits of a float, which are ordered like the numbers */
  const int           part = (int)blockIdx.x, begin = part * M.rows_most, end = begin + M.rows_most;
  const BAIReal      *a = reinterpret_cast<const BAIReal *>(A.a);

  if (!threadIdx.x) heaviest = 0;
  __syncthreads();
  for (int l = (int)threadIdx.x; l < M.rows[part]; l += THREADS) {
    const int     row   = M.row[begin + l];
    const size_t  at    = M.width ? (size_t)part * M.width * M.rows_most + l
                                  : (size_t)part * M.entries_most + M.first[(size_t)part * (M.rows_most + 1) + l];
    const int     step  = M.width ? M.rows_most : 1;
    const BAIReal left  = scaling[row];
    int           count = 0;
    BAIReal       sum   = 0;

    for (int outside = 0; outside < 2; outside++) {
      for (int k = A.i[row]; k < A.i[row + 1]; k++) {
        const int q = place[A.j[k]];

        if (A.j[k] == row || (q < begin || q >= end) != outside) continue;
        const BAIReal value = left * a[k] * (hermitian ? scaling[A.j[k]] : 1);

        M.a[at + (size_t)count * step] = value;
        if (!outside) sum += fabs(value);
        count++;
      }
    }
    for (; count < M.width; count++) M.a[at + (size_t)count * step] = 0;
    M.left[begin + l]  = left;
    M.right[begin + l] = hermitian ? left : 1;
    atomicMax(&heaviest, __float_as_uint((float)(sum < FLT_MAX ? sum : FLT_MAX)));
  }
  __syncthreads();
  if (!threadIdx.x) M.heaviest[part] = __uint_as_float(heaviest);
}

/* Divides a grid into at most most boxes, so that the largest is as small as possible */
static void CutGrid(Cut *cut, const BAIInt m[3], int most)
{
  long long least = -1;

  for (int z = 1; z <= m[2] && z <= most; z++) {
    for (int y = 1; y <= m[1] && y * z <= most; y++) {
      const int       x       = most / (y * z) < m[0] ? most / (y * z) : m[0];
      const int       size[3] = {(int)((m[0] + x - 1) / x), (int)((m[1] + y - 1) / y), (int)((m[2] + z - 1) / z)};
      const long long volume  = (long long)size[0] * size[1] * size[2],
                      faces   = (long long)size[0] * size[1] * (z > 1) + (long long)size[1] * size[2] * (x > 1) +
        (long long)size[0] * size[2] * (y > 1);

      if (least >= 0 && volume + faces >= least) continue;
      least         = volume + faces;
      cut->boxes[0] = x;
      cut->boxes[1] = y;
      cut->boxes[2] = z;
      cut->parts    = x * y * z;
    }
  }
  for (int d = 0; d < 3; d++) cut->m[d] = m[d];
}

/* The largest number of parts: one for each multiprocessor */
static int PartsMost(const BAIContext *context)
{
  return context->processors < BAI_CHIP_PARTS ? context->processors : BAI_CHIP_PARTS;
}

/* Whether a shape takes rows of at most longest entries, and n of them in this number of parts */
static bool HasRoom(const BAIChipShape &S, long long n, int longest, int parts)
{
  return (!S.length || longest - 1 <= S.length) && n <= (long long)S.each * S.threads * parts;
}

bool BAIChipHasRoom(const BAIContext *context, long long n)
{
  if (sizeof(BAIScalar) != sizeof(BAIReal)) return false; /* complex numbers have more than one lowest bit */
  for (const BAIChipShape &S : BAIChipShapes)
    if (HasRoom(S, n, 1, PartsMost(context))) return true;
  return false;
}

/* Divides rows into at most most parts for a shape of kernel, boxes of the grid or consecutive rows, if its thread
   blocks have room for their rows */
static BAIStatus CutRows(BAIChip *chip, const BAIRows &A, int shape, int most, bool boxes, Cut *cut, int *rows_most,
                         bool *fits)
{
  BAITemporary        room;
  const int           longest = chip->longest;
  const BAIChipShape &S       = BAIChipShapes[shape];

  *fits = false;
  *cut  = Cut{
    A.n, most, {0, 0, 0},
      {0, 0, 0},
      S.length > 0
  };
  if (!HasRoom(S, A.n, longest, most)) return BAIStatusOf(BAI_OK);
  if (boxes) CutGrid(cut, chip->grid.m, cut->parts);
  BAITry(room.Allocate(chip->context, sizeof(int)));
  CUDATry(cudaMemsetAsync(room.p, 0, sizeof(int), chip->context->stream));
  NumberPlaces<<<(unsigned)cut->parts, BAI_LANES, 0, chip->context->stream>>>(*cut, A.i, {}, NULL,
                                                                              static_cast<int *>(room.p));
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(rows_most, room.p, sizeof(int), cudaMemcpyDeviceToHost, chip->context->stream));
  CUDATry(cudaStreamSynchronize(chip->context->stream));
  *fits = *rows_most <= S.each * S.threads;
  return BAIStatusOf(BAI_OK);
}

/* Assigns places, and finds the sizes; allocates memory that TryCut() frees if the parts do not fit */
static BAIStatus Place(BAIChip *chip, const BAIRows &A, int shape, const Cut &cut, int rows_most, BAIChipParts *parts,
                       bool *fits)
{
  BAIChipMatrix &M       = parts->A;
  const int      longest = chip->longest;
  const size_t   places  = (size_t)cut.parts * (size_t)rows_most;
  const int      words   = (int)((places + BITS - 1) / BITS);
  cudaStream_t   stream  = chip->context->stream;
  BAITemporary   room;
  Largest        largest, *device;

  M.parts              = cut.parts;
  M.rows_most          = rows_most;
  M.width              = BAIChipShapes[shape].length ? longest - 1 > 0 ? longest - 1 : 1 : 0;
  parts->words_of_bits = words;
  *fits                = false;
  if (2 * (size_t)words * sizeof(int) > BAI_CHIP_BIT_BYTES) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * sizeof(int), &M.rows));
  BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * sizeof(int), &M.halos));
  BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * sizeof(int), &M.lanes));
  BAITry(BAICUDAAllocate(chip->context, places * sizeof(int), &M.row));
  BAITry(BAICUDAAllocate(chip->context, (size_t)A.n * sizeof(int), &parts->place));
  NumberPlaces<<<(unsigned)M.parts, THREADS, 0, stream>>>(cut, A.i, M, parts->place, NULL);
  BAITry(room.Allocate(chip->context, sizeof(largest)));
  device = static_cast<Largest *>(room.p);
  CUDATry(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  BAITry(BAIAllowShared((const void *)CountHalos, (size_t)words * sizeof(int)));
  BAITry(BAIAllowShared((const void *)FillPattern, 2 * (size_t)words * sizeof(int)));
  CountHalos<<<(unsigned)M.parts, THREADS, (size_t)words * sizeof(int), stream>>>(A, M, parts->place, words, device);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&largest, device, sizeof(largest), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  M.halo_most    = largest.halos > 0 ? largest.halos : 1;
  M.entries_most = largest.entries;
  parts->inside  = (long long)largest.inside;
  if (M.rows_most + M.halo_most > UINT16_MAX) return BAIStatusOf(BAI_OK);
  return BAIChipPlan(chip, shape, parts, fits);
}

/* Divides the rows into no more than most parts for a shape of kernel: boxes of the grid if boxes, otherwise parts of
   consecutive rows. If they fit, parts has their sizes and launch, but not yet the entries, see Fill(). Otherwise *fits
   is false, memory is freed, and parts is as empty as on entry. Waits for the device */
static BAIStatus TryCut(BAIChip *chip, const BAIRows &A, int shape, int most, bool boxes, BAIChipParts *parts,
                        bool *fits)
{
  const int owned = chip->context->nowned;
  Cut       cut;
  int       rows_most;

  BAITry(CutRows(chip, A, shape, most, boxes, &cut, &rows_most, fits));
  if (!*fits) return BAIStatusOf(BAI_OK);
  BAITry(Place(chip, A, shape, cut, rows_most, parts, fits));
  if (*fits) return BAIStatusOf(BAI_OK);
  BAICUDAFreeSince(chip->context, owned);
  *parts = BAIChipParts{};
  return BAIStatusOf(BAI_OK);
}

/* Boxes read fewer values of each other than parts of consecutive rows, which have equal numbers of entries. So if rows
   may have any length, boxes are tried if rows have similar lengths, and consecutive rows if boxes do not fit */
static BAIStatus Try(BAIChip *chip, const BAIRows &A, int shape, int most, BAIChipParts *parts, bool *fits)
{
  const bool alike  = (long long)chip->longest * A.n <= 2 * A.nnz;
  const int  length = BAIChipShapes[shape].length;
  const bool boxes  = chip->grid.m[0] && (length || alike);

  BAITry(TryCut(chip, A, shape, most, boxes, parts, fits));
  if (!*fits && boxes && !length) BAITry(TryCut(chip, A, shape, most, false, parts, fits));
  return BAIStatusOf(BAI_OK);
}

/* Allocates the matrix for parts that fit, and stores its pattern */
static BAIStatus Fill(BAIChip *chip, const BAIRows &A, BAIChipParts *parts)
{
  BAIChipMatrix &M      = parts->A;
  const size_t   places = (size_t)M.parts * (size_t)M.rows_most,
               entries  = M.width ? places * (size_t)M.width : (size_t)M.parts * (size_t)M.entries_most;

  BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * (size_t)M.halo_most * sizeof(int), &M.halo));
  if (!M.width)
    BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * (size_t)(M.rows_most + 1) * sizeof(int), &M.first));
  BAITry(BAICUDAAllocate(chip->context, places * sizeof(*M.inside), &M.inside));
  BAITry(BAICUDAAllocate(chip->context, entries * sizeof(*M.j), &M.j));
  BAITry(BAICUDAAllocate(chip->context, entries * sizeof(*M.a), &M.a));
  BAITry(BAICUDAAllocate(chip->context, places * sizeof(*M.left), &M.left));
  BAITry(BAICUDAAllocate(chip->context, places * sizeof(*M.right), &M.right));
  BAITry(BAICUDAAllocate(chip->context, (size_t)M.parts * sizeof(*M.heaviest), &M.heaviest));
  FillPattern<<<(unsigned)M.parts, THREADS, 2 * (size_t)parts->words_of_bits * sizeof(int), chip->context->stream>>>(
    A, M, parts->place, parts->words_of_bits);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIChipCut(BAIChip *chip, const BAIRows &A, bool *fits)
{
  const int room = PartsMost(chip->context), most = (A.n + BAI_CHIP_LEAST_ROWS - 1) / BAI_CHIP_LEAST_ROWS;

  *fits = false;
  for (int shape = 0; shape < BAI_CHIP_SHAPES && !*fits; shape++)
    BAITry(Try(chip, A, shape, most < room ? most : room, &chip->one, fits));
  if (!*fits) return BAIStatusOf(BAI_OK);
  BAITry(Fill(chip, A, &chip->one));
  return BAICUDAAllocate(chip->context, (size_t)A.n * sizeof(*chip->scaling), &chip->scaling);
}

/* Fills in the values of A, scaled to L A R, in a division into parts */
static BAIStatus Values(BAIChip *chip, const BAIRows &A, const BAIChipParts &parts)
{
  FillValues<<<(unsigned)parts.A.parts, THREADS, 0, chip->context->stream>>>(A, parts.A, parts.place, !chip->bicgstab,
                                                                             chip->scaling);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIChipUpdateValues(BAIChip *chip, const BAIRows *A, int hermitian)
{
  if (!chip->bicgstab != (hermitian != 0)) return BAIStatusOf(BAI_ERR_PATTERN); /* it takes another kernel */
  chip->A = *A;
  Scalings<<<BAIGrid(A->n, THREADS), THREADS, 0, chip->context->stream>>>(*A, hermitian != 0, chip->scaling);
  CUDATry(cudaGetLastError());
  BAITry(Values(chip, *A, chip->one));
  if (chip->many.kernel) BAITry(Values(chip, *A, chip->many));
  return BAIStatusOf(BAI_OK);
}

/*
   Estimates the clock cycles of one iteration of each of several systems, of which at most at_once are in one launch;
   further ones take more launches. parts is the number of thread blocks of a system, and entries the number of entries
   of a part, in shared memory or else in registers. Thread blocks mostly wait for sums and for each other, while thread
   blocks of other systems on the multiprocessor work. The rest depends on the number of entries on a multiprocessor,
   which are read four times; in shared memory, entries of several rows cause conflicts
*/
static double Cycles(int processors, int systems, int at_once, int parts, double entries, bool shared)
{
  const int waves = (systems + at_once - 1) / at_once, busy = systems < at_once ? systems : at_once;
  const int blocks = (busy * parts + processors - 1) / processors;

  return waves * (BAI_CHIP_WAITING + blocks * entries * (shared ? BAI_CHIP_IN_SHARED : BAI_CHIP_IN_REGISTERS));
}

/* Cycles() for parts that exist */
static double CyclesOf(BAIChip *chip, int systems, const BAIChipParts &parts)
{
  const BAIChipMatrix &M       = parts.A;
  const double         entries = M.width ? (double)M.rows_most * M.width : (double)M.entries_most;

  return Cycles(chip->context->processors, systems, parts.at_once, M.parts, entries, !M.width);
}

/* Makes parts for many systems: few enough that many systems are at work at once, and many enough that each is fast.
   There are none if the parts for one system are as good */
static BAIStatus MakeMany(BAIChip *chip, const BAIRows &A)
{
  double last = 0, least = CyclesOf(chip, BAI_CHIP_SYSTEMS, chip->one);
  bool   fits = false;

  for (int t = 0; t < BAI_CHIP_TRIES && !fits; t++) {
    double best       = least;
    int    best_shape = -1, best_parts = 0;

    for (int shape = 0; shape < BAI_CHIP_SHAPES; shape++) {
      const BAIChipShape &S = BAIChipShapes[shape];

      for (int systems = 2; systems <= BAI_CHIP_SYSTEMS && systems <= chip->context->processors; systems++) {
        const int    parts = chip->context->processors / systems < BAI_CHIP_PARTS ? chip->context->processors / systems
                                                                                  : BAI_CHIP_PARTS;
        const double entries = (double)A.n / parts * (S.length ? chip->longest - 1 : (double)A.nnz / A.n);
        const double cycles  = Cycles(chip->context->processors, BAI_CHIP_SYSTEMS, systems, parts, entries, !S.length);

        if (!HasRoom(S, A.n, chip->longest, parts) || cycles <= last || cycles >= best) continue;
        best       = cycles;
        best_shape = shape;
        best_parts = parts;
      }
    }
    if (best_shape < 0) break;
    last = best;
    BAITry(Try(chip, A, best_shape, best_parts, &chip->many, &fits));
  }
  if (!fits) return BAIStatusOf(BAI_OK);
  BAITry(Fill(chip, A, &chip->many));
  return Values(chip, A, chip->many);
}

BAIStatus BAIChipPartsFor(BAIChip *chip, int systems, BAIChipParts **parts)
{
  if (!chip->asked) {
    const BAIStatus status = MakeMany(chip, chip->A);

    if (status.code) chip->many = BAIChipParts{}; /* its memory is freed with the levels */
    BAITry(status);
    chip->asked = 1;
  }
  *parts = chip->many.kernel && CyclesOf(chip, systems, chip->many) < CyclesOf(chip, systems, chip->one) ? &chip->many
                                                                                                         : &chip->one;
  return BAIStatusOf(BAI_OK);
}
