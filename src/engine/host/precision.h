/*
   The precision of the sweeps. A file that includes this is compiled for both: once as it is, and once by its twin, which defines BAI_IN_SINGLE and includes it
*/
#pragma once

#include "host.h"

#if defined(BAI_IN_SINGLE)
typedef BAISingle       Value;
typedef float           ValueReal;
typedef BAIAtomicSingle Atomic;
  #define Load         BAILoadSingle
  #define Store        BAIStoreSingle
  #define InThis(name) name##Single
#else
typedef BAIScalar Value;
typedef BAIReal   ValueReal;
typedef BAIAtomic Atomic;
  #define Load         BAILoad
  #define Store        BAIStore
  #define InThis(name) name
#endif
