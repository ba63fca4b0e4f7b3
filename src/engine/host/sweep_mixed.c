/*
   The sweeps of blocks that refine, with corrections in single precision
*/
#define BAI_IN_MIXED
#include "sweep.c"
