/*
   The ranks of a node, and what all ranks can
*/
#include "../baiimpl.h"
#include <petsc/private/petscimpl.h>

/* This rank among those of its node; asked for once */
PetscErrorCode BAIGetNode(BAI *bai, MPI_Comm comm)
{
  MPI_Comm node;

  PetscFunctionBegin;
  if (bai->node_size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_rank(node, &bai->node_rank));
  PetscCallMPI(MPI_Comm_size(node, &bai->node_size));
  PetscCallMPI(MPI_Comm_group(node, &bai->node));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIForgetNode(BAI *bai)
{
  PetscFunctionBegin;
  if (bai->node_size) PetscCallMPI(MPI_Group_free(&bai->node));
  bai->node_size = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether these ranks of the face are on the node of this one */
PetscErrorCode BAIOnNode(const BAI *bai, PetscMPIInt n, const PetscMPIInt rank[], PetscBool *all)
{
  MPI_Group    whole;
  PetscMPIInt *there;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &there));
  PetscCallMPI(MPI_Comm_group(PetscObjectComm(bai->obj), &whole));
  PetscCallMPI(MPI_Group_translate_ranks(whole, n, rank, bai->node, there));
  *all = PETSC_TRUE;
  for (PetscMPIInt k = 0; k < n; k++) *all = (PetscBool)(*all && there[k] != MPI_UNDEFINED);
  PetscCallMPI(MPI_Group_free(&whole));
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all ranks can do something; with -info the first one that cannot says why. Collective */
PetscErrorCode BAIAllCan(const BAI *bai, BAIStatus status, const char what[], PetscBool *can)
{
  int failed = status.code ? 1 : 0;

  PetscFunctionBegin;
  if (status.what)
    PetscCall(PetscInfo(bai->obj, "Exchange %s cannot be: %s %s\n", what, status.what, status.why ? status.why : ""));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm(bai->obj)));
  *can = (PetscBool)!failed;
  PetscFunctionReturn(PETSC_SUCCESS);
}
