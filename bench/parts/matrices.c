#include "bench.h"
#include "gallery.h"
#include <string.h>

/* Matrices of the gallery by name, -n 0 for their default sizes, and Matrix Market files */
PetscErrorCode ForMatrices(PetscErrorCode (*work)(void *ctx, const char name[], Mat), void *ctx)
{
  enum {
    MAX = 32
  };
  Mat      A;
  char    *names[MAX], *files[MAX];
  PetscInt n[MAX] = {0}, nnames = MAX, nfiles = MAX, sizes = MAX;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-f", files, &nfiles, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-matrix", names, &nnames, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &sizes, NULL));
  PetscCheck(nnames + nfiles > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "needs -matrix with names of " GALLERY_NAMES ", or -f with Matrix Market files");
  for (PetscInt k = 0; k < nfiles; k++) {
    const char *base = strrchr(files[k], '/');

    PetscCall(MatrixMarketLoad(PETSC_COMM_WORLD, files[k], &A));
    PetscCall(work(ctx, base ? base + 1 : files[k], A));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(files[k]));
  }
  for (PetscInt k = 0; k < nnames; k++) {
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, names[k], n[k], &A));
    PetscCall(work(ctx, names[k], A));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(names[k]));
  }
  PetscFunctionReturn(0);
}
