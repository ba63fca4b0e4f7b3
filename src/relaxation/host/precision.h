/*
   The precision of the sweeps: Value is what the iterate and its residual are of, Inner what the local sweeps are of. A
   file that includes this is compiled for each: once as it is, and once by each of its twins, which define
   BAI_IN_SINGLE or BAI_IN_MIXED and include it
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
  #define Load  BAILoad
  #define Store BAIStore
  #if defined(BAI_IN_MIXED)
    #define InThis(name) name##Mixed
  #else
    #define InThis(name) name
  #endif
#endif

#if defined(BAI_IN_SINGLE) || defined(BAI_IN_MIXED)
typedef BAISingle Inner;
typedef float     InnerReal;
#else
typedef BAIScalar Inner;
typedef BAIReal   InnerReal;
#endif
