/*
   Statistics of a solve's sweeps: staleness of the values that blocks read from each other, number and times of updates
   of blocks, and iterations beyond the tolerance
*/
#include "research.h"
#include <petsc/private/petscimpl.h>

typedef struct {
  PetscInt64 reads[2 * BAI_MOST_STALE + 1], all_reads, units;
  PetscReal  least, median, most; /* updates of a unit */
  PetscReal  spread;              /* seconds between the last updates of units of a rank, at most */
  PetscReal  gpu, cpu;            /* joules; 0: not counted */
} Statistics;

/* Reads the energy counters that this rank is responsible for: its GPU, and the processors if it is the first rank of
   its node */
static PetscErrorCode ReadEnergy(BAI *bai, BAIEnergyMeter *meter)
{
  BAICount *c    = &bai->research->count;
  const int cuda = bai->relax.use.backend == BAI_BACKEND_CUDA;

  PetscFunctionBegin;
  if (cuda && c->setups != bai->relax.setups)
    PetscCall(BAICheckStatus(bai, BAIBackendGetDevice(BAI_BACKEND_CUDA, bai->relax.use.p.device, &c->device)));
  c->setups = bai->relax.setups;
  BAIEnergyRead(cuda ? &c->device : NULL, meter);
  if (bai->node.rank) meter->zones = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIStatsStart(BAI *bai)
{
  BAICount *c = &bai->research->count;

  PetscFunctionBegin;
  c->its   = 0;
  c->after = c->gpu = c->cpu = -1.0;
  if (!bai->options.stats) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckStatus(bai, BAIEngineStats(bai->relax.engine, NULL)));
  PetscCall(ReadEnergy(bai, &c->begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimates count.after from the residual norms before, after from iterations, and now, after to iterations */
void BAIStatsLook(BAI *bai, PetscInt from, PetscReal before, PetscInt to, PetscReal now, PetscReal tolerance)
{
  const PetscReal fall = before > now && now > 0.0 ? PetscLogReal(before / now) / (PetscReal)(to - from) : 0.0;

  bai->research->count.its   = to;
  bai->research->count.after = now <= tolerance && fall > 0.0
    ? PetscMin(PetscLogReal(tolerance / now) / fall, (PetscReal)(to - from))
    : -1.0;
}

/* Finds the smallest, median and largest number of updates over all ranks, on the first rank */
static PetscErrorCode SortUpdates(MPI_Comm comm, const BAIStats *mine, Statistics *s)
{
  PetscMPIInt size, rank, n = (PetscMPIInt)mine->units, all = 0, *counts = NULL, *firsts = NULL;
  PetscReal  *local, *updates = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1(n, &local));
  for (PetscMPIInt k = 0; k < n; k++) local[k] = (PetscReal)mine->updates[k];
  if (!rank) PetscCall(PetscMalloc2(size, &counts, size, &firsts));
  PetscCallMPI(MPI_Gather(&n, 1, MPI_INT, counts, 1, MPI_INT, 0, comm));
  for (PetscMPIInt k = 0; !rank && k < size; k++) {
    firsts[k] = all;
    all += counts[k];
  }
  if (!rank) PetscCall(PetscMalloc1(all, &updates));
  PetscCallMPI(MPI_Gatherv(local, n, MPIU_REAL, updates, counts, firsts, MPIU_REAL, 0, comm));
  if (all) {
    PetscCall(PetscSortReal(all, updates));
    s->least  = updates[0];
    s->median = updates[all / 2];
    s->most   = updates[all - 1];
  }
  PetscCall(PetscFree(updates));
  PetscCall(PetscFree2(counts, firsts));
  PetscCall(PetscFree(local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums the energy of all ranks' GPUs, each counted once, and of the processors */
static PetscErrorCode CollectEnergy(BAI *bai, Statistics *s)
{
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  const BAICount *c    = &bai->research->count;
  const int       uuid = sizeof(c->device.uuid);
  PetscReal       joules[2];
  unsigned char  *all;
  PetscMPIInt     size, rank;
  PetscBool       again = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1((size_t)size * (size_t)uuid, &all));
  PetscCallMPI(MPI_Allgather(c->device.uuid, uuid, MPI_UNSIGNED_CHAR, all, uuid, MPI_UNSIGNED_CHAR, comm));
  for (PetscMPIInt k = 0; k < rank; k++)
    again = (PetscBool)(again || !memcmp(all + (size_t)k * (size_t)uuid, c->device.uuid, (size_t)uuid));
  PetscCall(PetscFree(all));
  joules[0] = again ? 0.0 : PetscMax(c->gpu, (PetscReal)0.0);
  joules[1] = PetscMax(c->cpu, (PetscReal)0.0);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, joules, 2, MPIU_REAL, MPIU_SUM, comm));
  s->gpu = joules[0];
  s->cpu = joules[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Merges the statistics of all ranks, which call it together; numbers of updates on the first rank only */
static PetscErrorCode CollectStatistics(BAI *bai, Statistics *s)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  BAIStats       mine;
  PetscReal      first = 0.0, last = 0.0, spread;

  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, BAIEngineStats(bai->relax.engine, &mine)), NULL));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) s->reads[k] = (PetscInt64)mine.reads[k];
  s->units = (PetscInt64)mine.units;
  for (BAIInt k = 0; k < mine.units; k++) {
    first = k ? PetscMin(first, (PetscReal)mine.last[k]) : (PetscReal)mine.last[k];
    last  = k ? PetscMax(last, (PetscReal)mine.last[k]) : (PetscReal)mine.last[k];
  }
  spread = last - first;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->reads, 2 * BAI_MOST_STALE + 1, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->units, 1, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(&spread, &s->spread, 1, MPIU_REAL, MPIU_MAX, comm));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) s->all_reads += s->reads[k];
  PetscCall(SortUpdates(comm, &mine, s));
  PetscCall(CollectEnergy(bai, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The label of a bin: the first and the last one include all values beyond */
static const char *EndOf(int stale)
{
  return stale == -BAI_MOST_STALE ? " or less" : stale == BAI_MOST_STALE ? " or more" : "";
}

static PetscErrorCode ViewText(const BAI *bai, const Statistics *s, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  statistics of the last solve: %" PetscInt_FMT
                                   " global iterations, updates of a block: least %.0f, median %.0f, most %.0f\n",
                                   bai->research->count.its, (double)s->least, (double)s->median, (double)s->most));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  last updates of %" PetscInt64_FMT " blocks within %.3g s\n", s->units,
                                   (double)s->spread));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "  reads of other blocks by staleness in global iterations, 0: the previous iterate, negative: newer values\n"));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) {
    const int stale = k - BAI_MOST_STALE;

    if (s->reads[k])
      PetscCall(PetscViewerASCIIPrintf(viewer, "    staleness %d%s: %" PetscInt64_FMT ", %.3g %%\n", stale,
                                       EndOf(stale), s->reads[k], 100.0 * (double)s->reads[k] / (double)s->all_reads));
  }
  if (bai->research->count.after >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "  global iterations after the tolerance was met, estimated from the last contraction: %.2g, local sweeps %.2g\n",
      (double)bai->research->count.after, (double)bai->research->count.after * (double)bai->relax.info.local_sweeps));
  if (s->gpu > 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  energy of the last solve: GPU %.4g J\n", (double)s->gpu));
  if (s->cpu > 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  energy of the last solve: processors %.4g J\n", (double)s->cpu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes a line for each number: quantity, of, value */
static PetscErrorCode ViewCSV(const BAI *bai, const Statistics *s, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "quantity,of,value\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "iterations,,%" PetscInt_FMT "\nblocks,,%" PetscInt64_FMT "\n",
                                   bai->research->count.its, s->units));
  PetscCall(PetscViewerASCIIPrintf(viewer, "updates,least,%.0f\nupdates,median,%.0f\nupdates,most,%.0f\n",
                                   (double)s->least, (double)s->median, (double)s->most));
  PetscCall(PetscViewerASCIIPrintf(viewer, "spread,seconds,%.6e\n", (double)s->spread));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) {
    if (s->reads[k])
      PetscCall(PetscViewerASCIIPrintf(viewer, "reads,%d,%" PetscInt64_FMT "\n", k - BAI_MOST_STALE, s->reads[k]));
  }
  if (bai->research->count.after >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "after,iterations,%.6e\nafter,local sweeps,%.6e\n",
                                     (double)bai->research->count.after,
                                     (double)bai->research->count.after * (double)bai->relax.info.local_sweeps));
  if (s->gpu > 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "energy,gpu joules,%.6e\n", (double)s->gpu));
  if (s->cpu > 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "energy,cpu joules,%.6e\n", (double)s->cpu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows statistics as text, or as CSV if the viewer has this format */
PetscErrorCode BAIStatsView(BAI *bai, PetscViewer viewer)
{
  PetscBool         ascii;
  PetscViewerFormat format;
  Statistics        s;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !bai->relax.engine || !bai->relax.use.p.stats || !bai->research) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CollectStatistics(bai, &s));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format == PETSC_VIEWER_ASCII_CSV) PetscCall(ViewCSV(bai, &s, viewer));
  else PetscCall(ViewText(bai, &s, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends statistics after a solve, and views them if -ksp_bai_stats has a viewer */
PetscErrorCode BAIResearchEnd(BAI *bai)
{
  BAICount      *c = &bai->research->count;
  BAIEnergyMeter end;

  PetscFunctionBegin;
  if (!bai->options.stats) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckStatus(bai, BAIEngineWait(bai->relax.engine)));
  PetscCall(ReadEnergy(bai, &end));
  c->gpu = (PetscReal)BAIEnergyOfGPU(&c->begin, &end);
  c->cpu = (PetscReal)BAIEnergyOfCPU(&c->begin, &end);
  if (!bai->viewer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerPushFormat(bai->viewer, bai->format));
  PetscCall(BAIStatsView(bai, bai->viewer));
  PetscCall(PetscViewerPopFormat(bai->viewer));
  PetscCall(PetscViewerFlush(bai->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the viewer of -ksp_bai_stats; true or no value mean standard output */
PetscErrorCode BAIStatsGetViewer(BAI *bai, const char key[])
{
  const char *prefix;
  char        word[PETSC_MAX_PATH_LEN];
  PetscBool   set, is, yes;

  PetscFunctionBegin;
  PetscCall(PetscViewerDestroy(&bai->viewer));
  if (!bai->options.stats) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetOptionsPrefix(bai->obj, &prefix));
  PetscCall(PetscOptionsGetString(bai->obj->options, prefix, key, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReadsAsBool(word, &is, &yes));
  if (!is)
    PetscCall(PetscOptionsCreateViewer(PetscObjectComm(bai->obj), bai->obj->options, prefix, key, &bai->viewer,
                                       &bai->format, &set));
  else {
    PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm(bai->obj), &bai->viewer));
    PetscCall(PetscObjectReference((PetscObject)bai->viewer));
    bai->format = PETSC_VIEWER_DEFAULT;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
