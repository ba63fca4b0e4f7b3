/*
   Energy counters: of the GPU by NVML, which comes with the driver and is loaded at the first use, so that it is not
   linked; of processors by RAPL, in /sys/class/powercap, which mostly only root can read
*/
#include "energy.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Declarations of nvml.h */
typedef struct nvmlDevice_st *nvmlDevice_t;

typedef int (*Init)(void);
typedef int (*GetHandleByUUID)(const char *, nvmlDevice_t *);
typedef int (*GetTotalEnergy)(nvmlDevice_t, unsigned long long *);

typedef struct {
  int             tried;
  GetHandleByUUID handle;
  GetTotalEnergy  energy; /* NULL without NVML */
} NVML;

static NVML LoadNVML(void)
{
  NVML  nvml = {.tried = 1};
  void *lib  = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  Init  init = NULL;

  if (!lib) return nvml;
  *(void **)&init        = dlsym(lib, "nvmlInit_v2");
  *(void **)&nvml.handle = dlsym(lib, "nvmlDeviceGetHandleByUUID");
  *(void **)&nvml.energy = dlsym(lib, "nvmlDeviceGetTotalEnergyConsumption");
  if (!init || !nvml.handle || !nvml.energy || init()) nvml.energy = NULL;
  return nvml;
}

/* Reads the counter of a GPU, whose handle is kept for the next call. Without a counter meter is unchanged */
static void ReadGPU(const unsigned char uuid[16], BAIEnergyMeter *meter)
{
  static NVML          nvml;
  static nvmlDevice_t  device;
  static unsigned char of[16]; /* the GPU that handle belongs to */
  char                 name[64] = "GPU-";
  size_t               length   = 4;
  unsigned long long   energy;

  if (!nvml.tried) nvml = LoadNVML();
  if (!nvml.energy) return;
  if (!device || memcmp(of, uuid, sizeof(of))) {
    device = NULL;
    for (size_t k = 0; k < sizeof(of); k++)
      length += (size_t)snprintf(name + length, sizeof(name) - length, "%s%02x",
                                 k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", uuid[k]);
    memcpy(of, uuid, sizeof(of));
    if (nvml.handle(name, &device)) device = NULL;
  }
  if (!device || nvml.energy(device, &energy)) return;
  meter->gpu_known = 1;
  meter->gpu       = (long long)energy;
}

/* Reads the number in a file of a processor package; returns whether there is one */
static int ReadNumber(int zone, const char file[], long long *number)
{
  char  name[96];
  FILE *f;
  int   found;

  snprintf(name, sizeof(name), "/sys/class/powercap/intel-rapl:%d/%s", zone, file);
  f = fopen(name, "r");
  if (!f) return 0;
  found = fscanf(f, "%lld", number) == 1;
  fclose(f);
  return found;
}

void BAIEnergyRead(const unsigned char uuid[16], BAIEnergyMeter *meter)
{
  memset(meter, 0, sizeof(*meter));
  if (uuid) ReadGPU(uuid, meter);
  while (meter->zones < BAI_MOST_ZONES && ReadNumber(meter->zones, "energy_uj", &meter->zone[meter->zones]) &&
         ReadNumber(meter->zones, "max_energy_range_uj", &meter->range[meter->zones]))
    meter->zones++;
}

double BAIEnergyOfGPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after)
{
  return before->gpu_known && after->gpu_known ? 1e-3 * (double)(after->gpu - before->gpu) : -1;
}

double BAIEnergyOfCPU(const BAIEnergyMeter *before, const BAIEnergyMeter *after)
{
  double sum = 0;

  if (!before->zones || after->zones != before->zones) return -1;
  for (int k = 0; k < after->zones; k++)
    sum += 1e-6 * (double)(after->zone[k] - before->zone[k] + (after->zone[k] < before->zone[k] ? after->range[k] : 0));
  return sum;
}
