/*
   What the view of a KSP or PC says, on all of its ranks
*/
#pragma once

#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline PetscErrorCode GetView(PetscObject obj, char text[], int len)
{
  PetscMPIInt rank;
  PetscViewer viewer;
  FILE       *file = NULL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(obj), &rank));
  if (rank == 0) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm(obj), file, &viewer));
  PetscCall(PetscObjectView(obj, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    rewind(file);
    text[fread(text, 1, (size_t)len - 1, file)] = 0;
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(text, len, MPI_CHAR, 0, PetscObjectComm(obj)));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode ViewHas(PetscObject obj, const char words[], PetscBool *has)
{
  char text[10000], *found;

  PetscFunctionBeginUser;
  PetscCall(GetView(obj, text, (int)sizeof(text)));
  PetscCall(PetscStrstr(text, words, &found));
  *has = (PetscBool)(found != NULL);
  PetscFunctionReturn(0);
}

/* The number that follows these words */
static inline PetscErrorCode ViewedNumber(PetscObject obj, const char words[], PetscReal *number)
{
  char text[10000], *found;

  PetscFunctionBeginUser;
  PetscCall(GetView(obj, text, (int)sizeof(text)));
  PetscCall(PetscStrstr(text, words, &found));
  PetscCheck(found, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "The view does not have: %s", words);
  *number = (PetscReal)strtod(found + strlen(words), NULL);
  PetscFunctionReturn(0);
}
