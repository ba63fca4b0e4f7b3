/*
   What the thread blocks of a whole solve in one launch share
*/
#pragma once

#include "../look.h"
#include "state.h"

/* Shared by the thread blocks of a whole solve in one launch: see resident.cu */
struct BAIControl_ {
  int     ready, stop, arrived, decided, finished, its;
  int     progress; /* where tiles do not wait for each other: global iterations of the first */
  int     stalls;   /* the norm stands still */
  BAIReal bnorm2, rnorm2, tol2, most2;
  BAILook look; /* where tiles wait for each other: when they look at the residual */
};
