/*
   The sweeps in single precision
*/
#define BAI_IN_SINGLE
#include "sweep.c"
