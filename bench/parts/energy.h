/* Energy used by a GPU and the processors of this host, if there are counters that can be read */
#pragma once

enum {
  BAI_MOST_ZONES = 16 /* largest number of processor packages */
};

/* Values of the counters at one time */
typedef struct {
  int       gpu_known, zones;                            /* the GPU has a counter; number of packages with a counter */
  long long gpu;                                         /* millijoules since the driver was loaded */
  long long zone[BAI_MOST_ZONES], range[BAI_MOST_ZONES]; /* microjoules, and the value after which they wrap to 0 */
} BAIEnergyMeter;

/* Reads the counters of the processors, and of the GPU with this UUID unless it is NULL. Missing counters are no
   error */
void BAIEnergyRead(const unsigned char uuid[16], BAIEnergyMeter *);

/* Joules between two readings; negative without a counter. The counter of a GPU changes about every 100 ms, so short
   times may yield zero */
double BAIEnergyOfGPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after);
double BAIEnergyOfCPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after);
