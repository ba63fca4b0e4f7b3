/* The sweeps in single precision */
#define BAI_IN_SINGLE
#include "sweep.c" /* NOLINT(bugprone-suspicious-include): the same source in another precision */
