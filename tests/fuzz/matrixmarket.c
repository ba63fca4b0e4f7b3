/*
   A target of libFuzzer, make fuzz-mtx: whatever a Matrix Market file has in it, MatrixMarketLoad() makes the matrix
   that it says, or an error that names the line
*/
#define _GNU_SOURCE /* memfd_create(), strcasestr() */
#include "gallery.h"
#include <petsc/private/petscimpl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char said[1024];

static PetscErrorCode Keep(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *function,
                           PETSC_UNUSED const char *file, PetscErrorCode code, PetscErrorType type, const char *text,
                           PETSC_UNUSED void *ctx)
{
  if (type == PETSC_ERROR_INITIAL && text) (void)snprintf(said, sizeof(said), "%s", text);
  return code;
}

static void Must(PetscBool right, const char what[])
{
  if (right) return;
  (void)fprintf(stderr, "Not so: %s (%s)\n", what, said);
  abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  int    none   = 1;
  char  *name[] = {(*argv)[0], NULL};
  char **names  = name;

  (void)argc;
  (void)setenv("OMPI_MCA_opal_signal", "", 1); /* signals are for libFuzzer, which keeps the file */
  Must((PetscBool)!PetscOptionsSetValue(NULL, "-no_signal_handler", NULL), "signals are let through");
  Must((PetscBool)!PetscInitialize(&none, &names, NULL, NULL), "PETSc starts");
  Must((PetscBool)!PetscPushErrorHandler(Keep, NULL), "its errors are kept");
  return 0;
}

/* Matrices of so many rows that PETSc's own arrays for them are large say nothing about the reader */
static PetscBool IsLarge(const char *text, const char *end)
{
  int digits = 0;

  while (text < end && (*text == '%' || strchr(" \t\r\n\v\f", *text))) {
    if (*text == '%')
      while (text < end && *text != '\n') text++;
    else text++;
  }
  for (; text < end && *text != '\n'; text++) {
    digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
    if (digits > 4) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* What the first line says of the matrix holds */
static void Check(Mat A, const char text[])
{
  Mat       T;
  PetscInt  m, n;
  PetscReal norm;
  PetscBool same = PETSC_TRUE;
  char      banner[256], *end;

  (void)snprintf(banner, sizeof(banner), "%s", text);
  end = strchr(banner, '\n');
  if (end) *end = 0;
  Must((PetscBool)!MatGetSize(A, &m, &n), "it has a size");
  Must((PetscBool)!MatNorm(A, NORM_INFINITY, &norm), "it has a norm");
  Must((PetscBool)(m > 0 && n > 0 && !PetscIsNanReal(norm)), "rows, columns and entries are numbers");
  if (!strcasestr(banner, "symmetric")) return;
  Must((PetscBool)(m == n), "a symmetric matrix is square");
  Must((PetscBool)!MatDuplicate(A, MAT_COPY_VALUES, &T), "it is copied");
  if (strcasestr(banner, "skew")) Must((PetscBool)!MatScale(T, -1), "the copy is scaled");
  Must((PetscBool)!MatIsTranspose(A, T, 0, &same), "it is compared with the transpose");
  Must(same, "it is symmetric, or skew-symmetric, as its banner says");
  Must((PetscBool)!MatDestroy(&T), "the copy goes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const int file = memfd_create("matrix", 0);
  Mat       A    = NULL;
  char      name[64], *text = (char *)malloc(size + 1);
  long      line = 0, lines = 1;

  if (IsLarge((const char *)data, (const char *)data + size)) {
    free(text);
    (void)close(file);
    return -1;
  }
  memcpy(text, data, size);
  text[size] = 0;
  for (size_t k = 0; k < size; k++) lines += data[k] == '\n';
  Must((PetscBool)(write(file, data, size) == (ssize_t)size), "the file is written");
  (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
  said[0] = 0;
  if (!MatrixMarketLoad(PETSC_COMM_SELF, name, &A)) Check(A, text);
  else {
    Must((PetscBool)!strncmp(said, name, strlen(name)), "an error names the file");
    Must((PetscBool)(sscanf(said + strlen(name), ", line %ld:", &line) == 1 && line >= 1 && line <= lines + 1),
         "and the line");
  }
  Must((PetscBool)!MatDestroy(&A), "the matrix goes");
  free(text);
  (void)close(file);
  return 0;
}
