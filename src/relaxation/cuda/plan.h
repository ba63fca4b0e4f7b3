/*
   Which kernel a mode gets: families.cu says what each family of kernels can do, plan.cu chooses
*/
#pragma once

#include "state.h"

enum { /* beyond the plain global iterations of consecutive rows: what a family can do, and what a plan asks for */
  BAI_CAN_MOMENTUM  = 1 << 0,
  BAI_CAN_WEIGHTS   = 1 << 1, /* damping of the local sweeps that differs from row to row */
  BAI_CAN_THETA     = 1 << 2, /* local sweeps that differ from block to block */
  BAI_CAN_PARTITION = 1 << 3,
  BAI_CAN_OVERLAP   = 1 << 4,
  BAI_CAN_GHOSTS    = 1 << 5,
  BAI_CAN_LONG_ROWS = 1 << 6, /* packed slices, rows in pieces */
  BAI_CAN_SINGLE    = 1 << 7,
  BAI_CAN_LAUNCHES  = 1 << 8,  /* a launch for each global iteration */
  BAI_CAN_FAULTS    = 1 << 11, /* simulated ones */
  BAI_CAN_STATS     = 1 << 12, /* counts what tiles read, and when */
  BAI_CAN_REFINE    = 1 << 13, /* blocks that refine */
  BAI_CAN_SOLVE     = 1 << 10  /* a whole solve in one launch: all tiles must be there at once */
};

enum {
  BAI_REASON = 96 /* of why a family refuses */
};

/* What a kernel is wanted for */
typedef struct {
  const BAISliced *A;
  BAIMode          mode;
  BAIOrder         order;
  unsigned         asks;  /* BAI_CAN_... */
  int              turns; /* that blocks take in mode color; 0: not known */
} BAIWork;

/* A kernel, and what it is to be launched with */
typedef struct {
  const void *kernel;
  int         threads;
  size_t      shared;             /* 0: its vectors are in BAIState's scratch */
  bool        from_other, handed; /* see BAIPlan */
} BAIVariant;

typedef struct {
  BAIKernel kernel;
  unsigned  orders, can; /* sets of BAIOrder and of BAI_CAN_... */
  int       capability;  /* of the device, at least: 90 is 9.0 */
  int       blocks;      /* thread blocks that a multiprocessor must have room for */
  /* Looks at how large A is, where the above allows it: empty, or why not */
  void (*refuse)(const BAIWork *, char why[BAI_REASON]);
  /* The variants, in the order in which they are to be tried, from which = 0 on; false: no more */
  bool (*variant)(const BAIWork *, int which, BAIVariant *);
} BAIFamily;

/* In order of preference */
enum {
  BAI_FAMILIES = 3
};
extern const BAIFamily BAIFamilies[BAI_FAMILIES];

/* Why a family does not do some work, or empty; the room that there is on the device is not looked at */
void BAIFamilyRefuse(const BAIFamily *, const BAIWork *, char why[BAI_REASON]);

enum {
  BAI_PACKED_LOADS = 6 /* entries of packed rows that a thread has on their way; their products are in shared memory */
};

/* Kernels of one unit; NULL: none does this matrix */
const void *BAIStreamKernel(const BAISliced *);
const void *BAIOnceKernel(const BAISliced *, BAIOrder);
const void *BAIGenericKernel(const BAISliced *, bool refined, bool watched);
