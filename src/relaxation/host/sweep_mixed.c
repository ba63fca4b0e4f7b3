/* The sweeps of blocks that refine, with corrections in single precision */
#define BAI_IN_MIXED
#include "sweep.c" /* NOLINT(bugprone-suspicious-include): the same source in another precision */
