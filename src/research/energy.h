/*
   Energy that a GPU and this host's processors have taken, where the hardware counts it and lets us read it
*/
#pragma once

#include "../relaxation/engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum {
  BAI_MOST_ZONES = 16 /* processor packages that are read */
};

/* Counters at one time */
typedef struct {
  int       gpu_known, zones;                            /* whether the GPU has a counter; packages that have one; */
  long long gpu;                                         /* in millijoules, since the driver was loaded, */
  long long zone[BAI_MOST_ZONES], range[BAI_MOST_ZONES]; /* and in microjoules, and where they begin anew */
} BAIEnergyMeter;

/* gpu: NULL, or that of which a counter is to be read. What cannot be read is left out, and is no error */
void BAIEnergyRead(const BAIDevice *gpu, BAIEnergyMeter *);

/* Joules since an earlier reading; negative where there is no counter. That of a GPU moves about every 100 ms, so that
 * short times come out as zero */
double BAIEnergyOfGPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after);
double BAIEnergyOfCPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after);

#if defined(__cplusplus)
}
#endif
