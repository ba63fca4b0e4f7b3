/*
   What a KSPBAI counts, for who asks in C
*/
#include "../../research/research.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

/*@
   KSPBAIStatsView - Shows what the last solve counted: how stale the values were that blocks read from each other,
   how often and when they were updated

   Collective

   Input Parameters:
+  ksp    - the solver
-  viewer - an ASCII viewer; with the format `PETSC_VIEWER_ASCII_CSV` it gets a table with the
           columns quantity, of and value

   Options Database Key:
.  -ksp_bai_stats [viewertype][:filename[:viewerformat]] - shows it after each solve

   Level: intermediate

   Note:
   Nothing is shown if nothing was counted, see -ksp_bai_stats. In the table, `reads` of -1, 0, 1, ... are by
   staleness in global iterations, up to 32 either way.

.seealso: `KSPBAI`, `PetscViewer`
@*/
PetscErrorCode KSPBAIStatsView(KSP ksp, PetscViewer viewer)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(BAIGet((PetscObject)ksp, &BAIFaceKSP, &bai));
  if (bai) PetscCall(BAIStatsView(bai, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
