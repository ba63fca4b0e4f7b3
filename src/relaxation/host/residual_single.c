/*
   The residual in single precision
*/
#define BAI_IN_SINGLE
#include "residual.c" /* NOLINT(bugprone-suspicious-include): the same source in another precision */
