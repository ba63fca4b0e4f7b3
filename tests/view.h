/*
   What the view of a KSP or PC says
*/
#pragma once

#include <petscksp.h>

/* The number after these words, on all ranks; and the text after it up to the end of the line, if rest is not NULL */
static inline PetscErrorCode ViewedNumber(PetscObject obj, const char words[], PetscReal *number, char rest[], size_t len)
{
  PetscMPIInt rank;
  PetscViewer viewer;
  char        text[10000] = "", *found, *end;
  FILE       *file = NULL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(obj), &rank));
  if (rank == 0) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm(obj), file, &viewer));
  PetscCall(PetscObjectView(obj, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)sizeof(text), MPI_CHAR, 0, PetscObjectComm(obj)));
  PetscCall(PetscStrstr(text, words, &found));
  PetscCheck(found, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "The view does not have: %s", words);
  *number = (PetscReal)strtod(found + strlen(words), &end);
  if (rest) PetscCall(PetscStrncpy(rest, end, PetscMin(len, strcspn(end, "\n") + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
