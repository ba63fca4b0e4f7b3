/* The view of a relaxation: its options, and the choices in use */
#include "baiimpl.h"

/* Shows idle_wait if it is set, and which solves use it */
PetscErrorCode BAIViewWaits(const BAI *bai, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (bai->options.idle_wait)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  idle_wait: the host sleeps during long waits for a relaxation or a solve on the chip\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows options that differ from their defaults */
static PetscErrorCode ViewOptions(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o      = &bai->options;
  const BAIRefine   refine = BAIRefineOf(o);

  PetscFunctionBegin;
  if (o->momentum > 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "  momentum %g\n", (double)o->momentum));
  PetscCall(BAIViewWaits(bai, viewer));
  if (o->kernel != BAI_KERNEL_AUTO) PetscCall(PetscViewerASCIIPrintf(viewer, "  kernel %s\n", BAIKernels[o->kernel]));
  if (o->precision == BAI_PRECISION_SINGLE) PetscCall(PetscViewerASCIIPrintf(viewer, "  precision single\n"));
  if (o->refine != BAI_REFINE_AUTO || refine != BAI_REFINE_NONE)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     bai->relax.refinement.learnt ? "  refine %s, %" PetscInt_FMT
                                                                    " iterations for a correction\n"
                                                                  : "  refine %s\n",
                                     BAIRefines[refine], bai->relax.refinement.most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewMode(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  mode %s%s, local_iters %" PetscInt_FMT "%s, omega %g, local_omega %g%s\n",
                           BAIModes[BAIModeOf(bai)], o->mode == BAI_MODE_AUTO ? " (auto)" : "", o->local_iters,
                           o->theta ? " on average at most" : "", (double)o->omega,
                           (double)(bai->relax.engine ? (PetscReal)bai->relax.info.local_omega : o->local_omega),
                           bai->relax.engine && bai->relax.info.local_omega < BAILocalOmega(&bai->relax.use.p)
                             ? " where it is least"
                             : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewWeight(BAI *bai, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (bai->relax.use.weight == BAI_WEIGHT_L1) PetscCall(PetscViewerASCIIPrintf(viewer, "  weight l1\n"));
  if (BAIUsesTau(bai))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  weight tau%s: omega times %g\n",
                                     bai->relax.use.weight == BAI_WEIGHT_AUTO ? " (auto, at most 1)" : "",
                                     (double)bai->relax.tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the blocks, and how much of the matrix is inside them */
static PetscErrorCode ViewBlocks(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  if (bai->relax.info.colors)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks %s in the order of %d colors %s\n",
                                     BAIModeOf(bai) == BAI_MODE_COLOR ? "take turns" : "queue", bai->relax.info.colors,
                                     bai->relax.info.turns ? "of all ranks" : "on rank 0"));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  blocks of %" PetscInt64_FMT " rows%s%s%s, %" PetscInt64_FMT
                                   " on rank 0; off-diagonal entries there: %" PetscInt64_FMT
                                   " inside blocks, %" PetscInt64_FMT " outside\n",
                                   (PetscInt64)bai->relax.info.block_size, o->block_size ? "" : " (chosen)",
                                   bai->relax.use.partition == BAI_PARTITION_NATURAL ? "" : " at most, partition ",
                                   bai->relax.use.partition == BAI_PARTITION_NATURAL
                                     ? ""
                                     : BAIPartitionTypes[bai->relax.use.partition],
                                   (PetscInt64)bai->relax.info.blocks, (PetscInt64)bai->relax.info.nnz_local,
                                   (PetscInt64)bai->relax.info.nnz_off));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  a global iteration moves %.3g MB\n",
                                   1e-6 * (double)bai->relax.info.bytes_iteration));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the exchange between ranks, and rows that are treated specially */
static PetscErrorCode ViewRows(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  if (bai->ranks.scatter)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  exchange of x between ranks: %s%s\n",
                                     BAIExchanges[o->exchange != BAI_EXCHANGE_AUTO ? o->exchange
                                                    : bai->ranks.connected         ? BAI_EXCHANGE_DK
                                                                                   : BAI_EXCHANGE_SCATTER],
                                     o->exchange == BAI_EXCHANGE_AUTO ? " (auto)" : ""));
  if (bai->relax.info.units)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  1 replaces the diagonal entry of %" PetscInt64_FMT
                                     " rows on rank 0, where it is zero or missing\n",
                                     (PetscInt64)bai->relax.info.units));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the work of an iteration, and the processor that does it */
static PetscErrorCode ViewWork(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  if (o->theta)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  local sweeps in a global iteration %" PetscInt64_FMT
                                     " on rank 0, without theta %" PetscInt64_FMT "\n",
                                     (PetscInt64)bai->relax.info.local_sweeps,
                                     (PetscInt64)bai->relax.info.blocks * (PetscInt64)bai->relax.use.p.local_iters));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  backend %s%s, %d %s, %.3g MB; set-ups %" PetscInt_FMT
                                   ", value updates %" PetscInt_FMT "\n",
                                   BAIBackends[bai->relax.use.backend],
                                   o->backend == BAI_BACKEND_AUTO ? " (where the matrix is)" : "",
                                   bai->relax.info.workers,
                                   bai->relax.use.backend == BAI_BACKEND_HOST
                                     ? "threads"
                                     : ((bai->relax.info.solves >> bai->relax.use.p.mode & 1)
                                          ? "thread blocks that keep the matrix on the chip for a whole solve"
                                          : "thread blocks"),
                                   1e-6 * (double)bai->relax.info.bytes, bai->relax.setups, bai->relax.updates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows a relaxation in an ASCII viewer */
PetscErrorCode BAIView(BAI *bai, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(ViewOptions(bai, viewer));
  PetscCall(ViewMode(bai, viewer));
  if (!bai->relax.engine) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  backend %s, not yet set up\n", BAIBackends[bai->options.backend]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ViewWeight(bai, viewer));
  PetscCall(ViewBlocks(bai, viewer));
  PetscCall(ViewRows(bai, viewer));
  PetscCall(ViewWork(bai, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
