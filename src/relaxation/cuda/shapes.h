/*
   The kernels that there are of the family resident, whose loops over the entries of a row have lengths known to the
   compiler. A matrix gets the first that it fits

   Which kernels are worth having is a question of time to compile. Those that are not exact fits of a matrix cost some
   registers and additions of zeros, and give the same bits.
*/
#pragma once

#include "state.h"

enum { /* sets of BAIOrder */
  BAI_IN_OWN   = 1 << BAI_OWN,
  BAI_IN_QUEUE = 1 << BAI_QUEUE,
  BAI_IN_FLAGS = 1 << BAI_FLAGS,
  BAI_IN_LAG   = 1 << BAI_LAG,
  BAI_IN_TURNS = 1 << BAI_TURNS,
  BAI_IN_ALL   = BAI_IN_OWN | BAI_IN_QUEUE | BAI_IN_FLAGS | BAI_IN_TURNS /* but BAI_LAG */
};

/* Resident: entries inside the block, and outside it; 0: any number, in shared memory */
#define BAI_RESIDENT_SHAPES(SHAPE) \
  SHAPE(6, 8) \
  SHAPE(8, 0) \
  SHAPE(16, 0) \
  SHAPE(32, 0)

/* Rows of a tile: of wide rows half as many, as their registers are */
constexpr int BAIResidentRows(int loc, int off)
{
  return loc + off > 16 ? BAI_ROW_THREADS / 2 : BAI_ROW_THREADS;
}

/* NULL: not in this order */
template <int LOC, int OFF>
const void *BAIResidentKernel(BAIOrder);
