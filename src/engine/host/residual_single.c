/*
   The residual in single precision
*/
#define BAI_IN_SINGLE
#include "residual.c"
