/*
   The kernels of each family that plan.cu chooses from; NULL: none does this matrix
*/
#pragma once

#include "state.h"

const void *BAIResidentKernel(const BAISliced *, BAIOrder, bool in_shared);
const void *BAIStreamKernel(const BAISliced *);
const void *BAIOnceKernel(const BAISliced *, BAIOrder);
const void *BAIGenericKernel(const BAISliced *, bool refined, bool watched);
