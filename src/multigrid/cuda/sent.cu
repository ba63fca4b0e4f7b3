/* Rows that other ranks read, during set-up on a device: their entries of an array, and numbers of their aggregates */
#include "levels.h"
#include "../../common/cuda/scan.h"
#include <vector>

enum {
  THREADS = 256
};

/* An array on the device, and how its entries go to the host */
struct ArrayOnDevice {
  const void *from;    /* NULL: the level has no aggregates */
  size_t      size;    /* bytes of a row */
  bool        numbers; /* of 32 bits, which the host may have in 64 */
};

static ArrayOnDevice ArrayOf(BAILevelsState state, BAILevelsArray array, int level)
{
  const BAIDeviceLevel *L     = &state->level[level];
  const size_t          modes = (size_t)state->p.modes;
  const ArrayOnDevice   of[]  = {
       {L->aggregate,      sizeof(int),               true },
       {state->field,      sizeof(int),               true },
       {state->mode.mode,  modes * sizeof(BAIScalar), false},
       {L->P,              modes * sizeof(BAIScalar), false},
       {state->sides.side, sizeof(BAILevelsSide),     false},
       {L->sent,           sizeof(int),               true }
  };

  return of[array];
}

/* Copies n indices to the host, where they are of type BAIInt */
static BAIStatus Download(BAILevelsState state, size_t n, const int *from, BAIInt *to)
{
  const bool       as_it_is = sizeof(BAIInt) == sizeof(int);
  std::vector<int> narrow(as_it_is ? 0 : n);

  BAITry(BAIDownload(&state->s, n, from, as_it_is ? reinterpret_cast<int *>(to) : narrow.data()));
  for (size_t k = 0; k < narrow.size(); k++) to[k] = (BAIInt)narrow[k];
  return BAIStatusOf(BAI_OK);
}

/* Copies the modes of n rows of the last level to the host, where they are contiguous */
static BAIStatus GetModes(BAILevelsState state, size_t n, BAIScalar *to)
{
  const BAILevelModes   &from  = state->mode;
  const size_t           modes = (size_t)state->p.modes;
  std::vector<BAIScalar> all(from.rows * modes);

  BAITry(BAIDownload(&state->s, all.size(), from.mode, all.data()));
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < modes; k++) to[i * modes + k] = all[i * (size_t)from.row_step + k * (size_t)from.mode_step];
  return BAIStatusOf(BAI_OK);
}

/* The operations Get, Pick and Number of ../ops.def */
BAIStatus BAIDeviceGet(BAILevelsState state, BAILevelsArray array, int level, BAIInt count, void *to)
{
  const ArrayOnDevice a = ArrayOf(state, array, level);
  const size_t        n = (size_t)count;

  if (!n) return BAIStatusOf(BAI_OK);
  if (array == BAI_ARRAY_MODES) return GetModes(state, n, static_cast<BAIScalar *>(to));
  if (!a.from) {
    memset(to, 0, n * a.size);
    return BAIStatusOf(BAI_OK);
  }
  if (a.numbers) return Download(state, n, static_cast<const int *>(a.from), static_cast<BAIInt *>(to));
  return BAIDownload(&state->s, n * a.size, static_cast<const char *>(a.from), static_cast<char *>(to));
}

void BAIDeviceFreePicked(BAILevelsState state, BAILevelsArray array)
{
  BAIPicked *picked = &state->picked[array];

  BAIDrop(state, picked->sent_bytes, &picked->sent);
  BAIDrop(state, picked->ghost_bytes, &picked->ghost);
}

/* BAIDeviceCopyRows() for rows of width words */
static __global__ void CopyRows(long long words, int width, const int *row, const unsigned *from, unsigned *to)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k < words) to[k] = from[row[k / width] * (long long)width + k % width];
}

BAIStatus BAIDeviceCopyRows(BAILevelsState state, size_t n, const int *row, size_t size, const void *from, void *to)
{
  const int       width = (int)(size / sizeof(unsigned));
  const long long words = (long long)n * width;

  if (!n) return BAIStatusOf(BAI_OK);
  CopyRows<<<BAIGrid(words, THREADS), THREADS, 0, state->s.stream>>>(words, width, row,
                                                                     static_cast<const unsigned *>(from),
                                                                     static_cast<unsigned *>(to));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceSentRows(BAILevelsState state, BAIDeviceLevel *L, const BAILevelsShared *shared)
{
  const size_t n = (size_t)shared->sends;

  if (L->sent || !n) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, n, &L->sent));
  if (shared->row) return BAINarrow(state->s, n, shared->row, L->sent);
  for (int p = 0; p < shared->peers; p++) {
    const int first = (int)shared->first[p], count = (int)shared->first[p + 1] - first;

    if (count) BAITry(BAINumber(state->s, count, {.rows = 1, .add = (int)shared->start[p], .to = L->sent + first}));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDevicePick(BAILevelsState state, BAILevelsArray array, int level, const BAILevelsShared *shared,
                        size_t *size, void **sent, void **ghost)
{
  const ArrayOnDevice a      = ArrayOf(state, array, level);
  BAIPicked          *picked = &state->picked[array];

  BAIDeviceFreePicked(state, array);
  *size               = a.size;
  picked->sent_bytes  = (size_t)shared->sends * a.size;
  picked->ghost_bytes = (size_t)shared->ghosts * a.size;
  BAITry(BAIKeep(state, picked->sent_bytes, &picked->sent));
  BAITry(BAIKeep(state, picked->ghost_bytes, &picked->ghost));
  *sent  = picked->sent;
  *ghost = picked->ghost;
  if (!shared->sends) return BAIStatusOf(BAI_OK);
  if (!a.from) {
    CUDATry(cudaMemsetAsync(*sent, 0, picked->sent_bytes, state->s.stream));
    return BAIStatusOf(BAI_OK);
  }
  BAITry(BAIDeviceSentRows(state, &state->level[level], shared));
  return BAIDeviceCopyRows(state, (size_t)shared->sends, state->level[level].sent, a.size, a.from, *sent);
}

/* Marks for each peer the aggregates that it reads. A prefix sum over the marks of all peers numbers them */
BAIStatus BAIDeviceNumber(BAILevelsState state, int peers, const BAIInt *first, const BAIInt *last, void *sent,
                          BAIInt *count, BAIInt *row)
{
  BAIDeviceLevel  *L = BAIDeviceLast(state), *next = L + 1;
  const size_t     m = L->m ? (size_t)L->m : 1, marks = (size_t)peers * m, ends = (size_t)peers + 1;
  std::vector<int> end(ends);
  BAIRoom          rooms[2];
  int             *before, *end_on_device; /* before: the marks, and then how many come before each */

  if (!peers) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Get(state, marks + 1, &before));
  BAITry(rooms[1].Get(state, ends, &end_on_device));
  BAITry(BAIKeep(state, (size_t)last[peers - 1], &next->sent));
  CUDATry(cudaMemsetAsync(before, 0, (marks + 1) * sizeof(*before), state->s.stream));
  for (int pass = 0; pass < 2; pass++) {
    for (int p = 0; p < peers; p++) {
      int *const number = static_cast<int *>(sent) + first[p], *const of_peer = before + (size_t)p * m;

      if (first[p] == last[p]) continue;
      if (!pass) BAITry(BAINumber(state->s, (int)(last[p] - first[p]), {.index = number, .mark = of_peer}));
      else
        BAITry(BAINumber(state->s, (int)(last[p] - first[p]),
                         {.index = number, .from = of_peer, .to = number, .list = next->sent}));
    }
    if (!pass) BAITry(BAIScan(&state->s, (long long)marks + 1, before, before));
  }
  CUDATry(cudaMemcpy2DAsync(end_on_device, sizeof(int), before, m * sizeof(int), sizeof(int), ends,
                            cudaMemcpyDeviceToDevice, state->s.stream));
  BAITry(BAIDownload(&state->s, ends, end_on_device, end.data()));
  for (int p = 0; p < peers; p++) count[p] = (BAIInt)(end[(size_t)p + 1] - end[(size_t)p]);
  if (row) BAITry(Download(state, (size_t)end[(size_t)peers], next->sent, row));
  if (state->p.modes) BAIDrop(state, (size_t)last[peers - 1], &next->sent); /* an aggregate becomes several rows */
  return BAIStatusOf(BAI_OK);
}
