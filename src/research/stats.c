/* Statistics of a solve's sweeps: staleness of the values that blocks read from each other, and numbers of updates */
#include "../petsc/baiimpl.h"

typedef struct {
  PetscInt64 reads[2 * BAI_MOST_STALE + 1], all_reads, units;
  PetscInt64 updates[2]; /* least and most of a unit */
  PetscInt   its;        /* global iterations of the solve */
} Statistics;

/* Merges the statistics of all ranks, which call it together */
static PetscErrorCode CollectStatistics(BAI *bai, Statistics *s)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  BAIStats       mine;
  PetscInt64     most[2] = {PETSC_MIN_INT, PETSC_MIN_INT}; /* of the updates, and of their negatives */

  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, BAIEngineStats(bai->relax.engine, &mine)), NULL));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) s->reads[k] = (PetscInt64)mine.reads[k];
  s->units = (PetscInt64)mine.units;
  PetscCall(KSPGetIterationNumber((KSP)bai->obj, &s->its));
  for (BAIInt k = 0; k < mine.units; k++) {
    most[0] = PetscMax(most[0], (PetscInt64)mine.updates[k]);
    most[1] = PetscMax(most[1], -(PetscInt64)mine.updates[k]);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->reads, 2 * BAI_MOST_STALE + 1, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->units, 1, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPIU_INT64, MPI_MAX, comm));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) s->all_reads += s->reads[k];
  s->updates[0] = s->units ? -most[1] : 0;
  s->updates[1] = s->units ? most[0] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The label of a bin: the first and the last one include all values beyond */
static const char *EndOf(int stale)
{
  return stale == -BAI_MOST_STALE ? " or less" : stale == BAI_MOST_STALE ? " or more" : "";
}

static PetscErrorCode ViewText(const Statistics *s, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  statistics of the last solve: %" PetscInt_FMT
                                   " global iterations, updates of a block: least %" PetscInt64_FMT
                                   ", most %" PetscInt64_FMT "\n",
                                   s->its, s->updates[0], s->updates[1]));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "  reads of other blocks by staleness in global iterations, 0: the previous iterate, negative: newer values\n"));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) {
    const int stale = k - BAI_MOST_STALE;

    if (s->reads[k])
      PetscCall(PetscViewerASCIIPrintf(viewer, "    staleness %d%s: %" PetscInt64_FMT ", %.3g %%\n", stale,
                                       EndOf(stale), s->reads[k], 100.0 * (double)s->reads[k] / (double)s->all_reads));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes a line for each number: quantity, of, value */
static PetscErrorCode ViewCSV(const Statistics *s, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "quantity,of,value\n"));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "iterations,,%" PetscInt_FMT "\nblocks,,%" PetscInt64_FMT "\n", s->its, s->units));
  PetscCall(PetscViewerASCIIPrintf(viewer, "updates,least,%" PetscInt64_FMT "\nupdates,most,%" PetscInt64_FMT "\n",
                                   s->updates[0], s->updates[1]));
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) {
    if (s->reads[k])
      PetscCall(PetscViewerASCIIPrintf(viewer, "reads,%d,%" PetscInt64_FMT "\n", k - BAI_MOST_STALE, s->reads[k]));
  }
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
  if (!ascii || !bai->relax.engine || !bai->relax.use.p.stats) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CollectStatistics(bai, &s));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format == PETSC_VIEWER_ASCII_CSV) PetscCall(ViewCSV(&s, viewer));
  else PetscCall(ViewText(&s, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views the statistics after a solve, if -ksp_bai_stats has a viewer */
PetscErrorCode BAIStatsEnd(BAI *bai)
{
  PetscFunctionBegin;
  if (!bai->options.stats || !bai->viewer) PetscFunctionReturn(PETSC_SUCCESS);
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
