/*
   What the thread blocks of a whole solve in one launch share
*/
#pragma once

#include "../adapt.h"
#include "state.h"

/* Shared by the thread blocks of a whole solve in one launch: see resident.cu */
struct BAIControl_ {
  int ready, stop, arrived, met, decided, finished, its;
  int progress,
    slow; /* where tiles do not wait for each other: global iterations of the first; they are better accelerated */
  BAIReal bnorm2, rnorm2, tol2, most2;

  BAIAdapt    adapt;    /* where tiles wait for each other: when they look at the residual, */
  BAIDecision decision; /* and how they go on then */
};
