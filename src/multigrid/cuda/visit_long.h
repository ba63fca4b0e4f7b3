/*
   A visit to a block of a level whose rows have many entries. BAI_LONG_TEAMS teams, each of BAI_LEVELS_BLOCK threads,
   share the entries of each row. In every team, thread t computes x of row t. visit.h has the visit by one team, and
   explains the arguments
*/
#pragma once

#include "visit.h"
#include <cuda_pipeline.h>

enum {
  BAI_LONG_THREADS = BAI_LONG_TEAMS * BAI_LEVELS_BLOCK,
  /* rows whose entries outside blocks are added up at a time; and how often */
  BAI_LONG_ROWS   = BAI_LONG_THREADS / BAI_LONG_ROW_TEAM,
  BAI_LONG_ROUNDS = BAI_LEVELS_BLOCK / BAI_LONG_ROWS
};

template <typename T>
struct LongRoom {
  T x[BAI_LEVELS_BLOCK];
  T part[BAI_LONG_TEAMS][BAI_LEVELS_BLOCK]; /* products of each row with the share of each team */
  /* copies for the restriction: begins of aggregates, and rows of P */
  int child[BAI_LEVELS_BLOCK + 1];
  T   P[BAI_LEVELS_BLOCK * BAI_LEVELS_MODES];
};

/* Puts the products of the rows' entries outside the block with x of the level into sums. BAI_LONG_ROW_TEAM threads
   share a row; begin and end are those of the rows that a thread helps with */
template <typename T>
static __device__ __forceinline__ void SumOutside(const BAILevelView<T> &L, const int (&begin)[BAI_LONG_ROUNDS],
                                                  const int (&end)[BAI_LONG_ROUNDS], T *sums)
{
  const int lane = (int)threadIdx.x % BAI_LONG_ROW_TEAM, row = (int)threadIdx.x / BAI_LONG_ROW_TEAM;

#pragma unroll
  for (int k = 0; k < BAI_LONG_ROUNDS; k++) {
    const T sum = SumOfLanes<BAI_LONG_ROW_TEAM>(
      SumOfProducts<BAI_LONG_AT_ONCE>(L.out_j, L.out_a, L.x, begin[k] + lane, end[k], BAI_LONG_ROW_TEAM));

    if (!lane) sums[row + k * BAI_LONG_ROWS] = sum;
  }
}

/* Returns r minus the products of this thread's row with x of the block */
template <typename T>
static __device__ __forceinline__ T RestInBlock(const InsideOfRow<T, BAI_LONG_PAIRS, false, BAI_LONG_TEAMS> &inside,
                                                T r, T x, int t, int team, LongRoom<T> &room)
{
  if (!team) room.x[t] = x;
  __syncthreads();
  room.part[team][t] = inside.Rest(T(0), room.x);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < BAI_LONG_TEAMS; k++) r += room.part[k][t];
  return r;
}

/* Starts the copies for the restriction of size rows from first on, which are in count aggregates from aggregate on */
template <typename T>
static __device__ __forceinline__ void BeginRestriction(const BAILevelView<T> &L, int first, int size, int aggregate,
                                                        int count, LongRoom<T> &room)
{
  const T *const P = L.P + (long long)first * L.modes;

  for (int k = (int)threadIdx.x; k <= count; k += BAI_LONG_THREADS)
    __pipeline_memcpy_async(&room.child[k], L.child + aggregate + k, sizeof(int));
  for (int k = (int)threadIdx.x; k < size * L.modes; k += BAI_LONG_THREADS)
    __pipeline_memcpy_async(&room.P[k], P + k, sizeof(T));
  __pipeline_commit();
}

/* Restricts the residuals of the rows in room.x to below, b of the next level from the first aggregate on: a warp for
   each of its numbers */
template <typename T>
static __device__ __forceinline__ void RestrictLong(int modes, int first, int count, const LongRoom<T> &room, T *below)
{
  const int lane = (int)threadIdx.x % BAI_TEAM, columns = BAIColumnsOfP(modes);

  for (int i = (int)threadIdx.x / BAI_TEAM; i < count * columns; i += BAI_LONG_THREADS / BAI_TEAM) {
    const int c = i / columns, k = i % columns, end = room.child[c + 1] - first;
    T         sum = T(0);

    for (int t = room.child[c] - first + lane; t < end; t += BAI_TEAM)
      sum += modes ? Conj(room.P[t * modes + k]) * room.x[t] : room.x[t];
    sum = SumOfLanes<BAI_TEAM>(sum);
    if (!lane) below[i] = sum;
  }
}

/* VisitBlock() by all threads of a thread block, after how.finer has been subtracted */
template <typename T>
static __device__ __forceinline__ void VisitLongBlock(const BAILevelView<T> &L, const VisitHow<T> &how, T *below,
                                                      int block, LongRoom<T> &room, const int *done)
{
  const int  t = (int)threadIdx.x % BAI_LEVELS_BLOCK, team = (int)threadIdx.x / BAI_LEVELS_BLOCK;
  const int  first = L.full ? block * BAI_LEVELS_BLOCK : L.first[block], p = first + t;
  const int  size = L.full ? BAI_LEVELS_BLOCK : L.first[block + 1] - first;
  const bool mine = t < size;
  const InsideOfRow<T, BAI_LONG_PAIRS, false, BAI_LONG_TEAMS> inside(L, block * BAI_TEAMS + t / BAI_TEAM, t, team);
  T                                                           b = T(0), x = T(0), g;
  int aggregate = 0, count = 0, begin[BAI_LONG_ROUNDS], end[BAI_LONG_ROUNDS];

  if (how.restricts) {
    aggregate = L.aggregate[block];
    count     = L.aggregate[block + 1] - aggregate;
  }
#pragma unroll
  for (int k = 0; k < BAI_LONG_ROUNDS; k++) {
    const int q = (int)threadIdx.x / BAI_LONG_ROW_TEAM + k * BAI_LONG_ROWS;

    begin[k] = q < size && !how.from_zero ? L.out_first[first + q] : 0;
    end[k]   = q < size && !how.from_zero ? L.out_first[first + q + 1] : 0;
  }
  const RowOfVisit<T> at(L, how, p, mine, p);

  const Range above = RowsAbove(how, p, mine);

  if (how.restricts) BeginRestriction(L, first, size, aggregate, count, room);
  BAIFollow();
  const int stop = done ? *done : 0;

  if (mine) b = how.r ? T(how.r[at.row] * how.factors[0]) : L.b[p];
  if (mine && how.r && !team) L.b[p] = b;
  g = b;
  if (!how.from_zero) {
    T *const sums = room.part[0];

    SumOutside(L, begin, end, sums);
    if (mine) x = L.x[p];
    __syncthreads();
    g += at.extra * x;
    g -= sums[t];
  } else x = at.dinv * g;
  if (stop) return;
  for (int sweep = how.from_zero ? 1 : 0; sweep < how.sweeps; sweep++)
    x += at.dinv * RestInBlock(inside, g - (at.d + at.extra) * x, x, t, team, room);
  if (mine && !team) {
    if (how.u) how.u[at.row] = x;
    else if (how.z) how.z[at.row] = BAIScalar(x) * how.factors[1];
    else L.y[p] = x;
    if (how.above) AddAbove(how.above, above.begin, above.end, x);
  }
  if (!how.restricts) return;
  const T rest = RestInBlock(inside, b - at.d * x, x, t, team, room);

  if (!team) room.x[t] = rest;
  __pipeline_wait_prior(0);
  __syncthreads();
  RestrictLong(L.modes, first, count, room, below + BAIRowsOfNext(aggregate, L.modes));
}
