/* Kernels that work on several levels at once: their thread blocks are spread over the levels */
#pragma once

#include "levels.h"

struct BAISpread {
  int levels, level[BAI_LEVELS_MOST]; /* number of these levels, and which they are */
  int begin[BAI_LEVELS_MOST + 1];     /* first thread block of each, and their number */
};

/* A thread block's share of the work: its level, and its number among the blocks of the level */
struct BAIShare {
  int level, block;
};

/* Adds a level that gets this number of thread blocks */
static inline void BAISpreadOver(BAISpread *spread, int level, long long blocks)
{
  const int k = spread->levels++;

  spread->level[k]     = level;
  spread->begin[k + 1] = spread->begin[k] + (int)blocks;
}

/* The number of thread blocks of a launch; at least one level has been added */
static inline unsigned BAIBlocksOf(const BAISpread &spread)
{
  return (unsigned)spread.begin[spread.levels];
}

static __device__ inline BAIShare BAIShareOf(const BAISpread &spread)
{
  int k = 0;

  while ((int)blockIdx.x >= spread.begin[k + 1]) k++;
  return {spread.level[k], (int)blockIdx.x - spread.begin[k]};
}
