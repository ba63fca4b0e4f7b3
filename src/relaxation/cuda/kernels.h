/*
   The kernels of each family that plan.cu chooses from; NULL: none does this matrix
*/
#pragma once

#include "state.h"

enum {
  BAI_PACKED_LOADS = 6 /* entries of packed rows that a thread has on their way; their products are in shared memory */
};

const void *BAIResidentKernel(const BAISliced *, BAIOrder, bool in_shared);
const void *BAIStreamKernel(const BAISliced *);
const void *BAIOnceKernel(const BAISliced *, BAIOrder);
const void *BAIGenericKernel(const BAISliced *, bool refined, bool watched);
