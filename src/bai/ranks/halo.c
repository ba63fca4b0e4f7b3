/*
   Which rows of which ranks read each other, and values that go from owners to ghosts
*/
#include "../baiimpl.h"
#include <petscsf.h>

PetscErrorCode BAIHaloDestroy(BAIHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(halo->rank, halo->first, halo->last, halo->begin));
  PetscCall(PetscFree(halo->row));
  PetscCall(PetscFree(halo->request));
  *halo = (BAIHalo){.n = 0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Peers are ranks that this one reads from or that read from this one; ghosts are those of the first peer, and so on */
PetscErrorCode BAIHaloCreate(Mat A, PetscInt nghost, const PetscInt garray[], BAIHalo *halo)
{
  PetscSF            sf;
  PetscLayout        columns;
  BAIRankCount       reads, readers;
  const PetscMPIInt *in, *out;
  const PetscInt    *in_first, *out_first, *row;
  PetscInt           rows, dups;

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = 0};
  PetscCall(MatGetLayouts(A, NULL, &columns));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, columns, nghost, NULL, PETSC_COPY_VALUES, garray));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(PetscSFGetRootRanks(sf, &reads, &in, &in_first, NULL, NULL));
  PetscCall(PetscSFGetLeafRanks(sf, &readers, &out, &out_first, &row));
  rows = readers ? out_first[readers] : 0;
  PetscCall(PetscMalloc4(reads + readers, &halo->rank, reads + readers, &halo->first, reads + readers, &halo->last,
                         reads + readers + 1, &halo->begin));
  PetscCall(PetscMalloc1(rows, &halo->row));
  PetscCall(PetscArraycpy(halo->rank, in, reads));
  PetscCall(PetscArraycpy(halo->rank + reads, out, readers));
  dups = (PetscInt)(reads + readers);
  PetscCall(PetscSortRemoveDupsMPIInt(&dups, halo->rank));
  halo->n        = (PetscMPIInt)dups;
  halo->begin[0] = 0;
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    halo->first[k]     = halo->sends;
    halo->begin[k + 1] = halo->begin[k]; /* columns ascend, and so do the ranks that own them */
    for (BAIRankCount i = 0; i < reads; i++)
      if (in[i] == halo->rank[k]) halo->begin[k + 1] += in_first[i + 1] - in_first[i];
    for (BAIRankCount o = 0; o < readers; o++) {
      if (out[o] != halo->rank[k]) continue;
      PetscCall(PetscArraycpy(halo->row + halo->sends, row + out_first[o], out_first[o + 1] - out_first[o]));
      halo->sends += out_first[o + 1] - out_first[o];
    }
    halo->last[k] = halo->sends;
  }
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank that has some of so many rows reads those of all others */
PetscErrorCode BAIHaloOfAll(MPI_Comm comm, PetscInt mine, PetscMPIInt tag, BAIHalo *halo)
{
  PetscMPIInt size, rank;
  PetscInt   *rows;

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = 0, .tag = tag, .sends = mine};
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1(size, &rows));
  PetscCall(PetscMalloc4(size, &halo->rank, size, &halo->first, size, &halo->last, size + 1, &halo->begin));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPIU_INT, rows, 1, MPIU_INT, comm));
  halo->begin[0] = 0;
  for (PetscMPIInt k = 0; k < size && mine; k++) {
    if (k == rank || !rows[k]) continue;
    halo->rank[halo->n]      = k;
    halo->first[halo->n]     = 0;
    halo->last[halo->n]      = mine;
    halo->begin[halo->n + 1] = halo->begin[halo->n] + rows[k];
    halo->n++;
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BAIHaloGhosts(const BAIHalo *halo)
{
  return halo->n ? halo->begin[halo->n] : 0;
}

/* Values of so many bytes each: of rows that are sent, in their order, to those of ghosts */
PetscErrorCode BAIHaloExchange(BAIHalo *halo, MPI_Comm comm, size_t size, const void *sent, void *ghosts)
{
  PetscMPIInt count = 0;

  PetscFunctionBegin;
  if (!halo->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (!halo->request) PetscCall(PetscCalloc1(2 * halo->n, &halo->request));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    const size_t in = (size_t)(halo->begin[k + 1] - halo->begin[k]), out = (size_t)(halo->last[k] - halo->first[k]);

    if (in)
      PetscCallMPI(MPI_Irecv((char *)ghosts + (size_t)halo->begin[k] * size, (PetscMPIInt)(in * size), MPI_BYTE,
                             halo->rank[k], halo->tag, comm, halo->request + count++));
    if (out)
      PetscCallMPI(MPI_Isend((const char *)sent + (size_t)halo->first[k] * size, (PetscMPIInt)(out * size), MPI_BYTE,
                             halo->rank[k], halo->tag, comm, halo->request + count++));
  }
  PetscCallMPI(MPI_Waitall(count, halo->request, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers that are not negative, each once, in the order in which they come; at: of each its place among these, or
   -1. mark: room for all numbers, zero before and after */
static void Unique(PetscInt n, const PetscInt number[], PetscInt mark[], PetscInt *count, PetscInt list[],
                   PetscInt at[])
{
  *count = 0;
  for (PetscInt k = 0; k < n; k++) {
    at[k] = -1;
    if (number[k] < 0) continue;
    if (!mark[number[k]]) {
      list[*count]    = number[k];
      mark[number[k]] = ++*count;
    }
    at[k] = mark[number[k]] - 1;
  }
  for (PetscInt k = 0; k < *count; k++) mark[list[k]] = 0;
}

/* Room for marks of these numbers */
static PetscErrorCode CreateMarks(PetscInt n, const PetscInt sent[], PetscInt m, const PetscInt ghost[],
                                  PetscInt **mark)
{
  PetscInt most = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) most = PetscMax(most, sent[k]);
  for (PetscInt k = 0; k < m; k++) most = PetscMax(most, ghost[k]);
  PetscCall(PetscCalloc1(most + 1, mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The halo of the next level, from the aggregates of rows that are sent and of ghosts, by their owners' numbers, or -1.
 * of: of each ghost the ghost of the next level, or -1. Both ends of a message find the same order */
PetscErrorCode BAIHaloCoarsen(const BAIHalo *fine, const PetscInt sent[], const PetscInt ghost[], BAIHalo *halo,
                              PetscInt of[])
{
  PetscInt *list, *mark, *place, count;

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = fine->n, .tag = fine->tag};
  PetscCall(PetscMalloc4(fine->n, &halo->rank, fine->n, &halo->first, fine->n, &halo->last, fine->n + 1, &halo->begin));
  PetscCall(PetscMalloc1(fine->sends, &halo->row));
  PetscCall(PetscMalloc2(BAIHaloGhosts(fine), &list, fine->sends, &place));
  PetscCall(CreateMarks(fine->sends, sent, BAIHaloGhosts(fine), ghost, &mark));
  PetscCall(PetscArraycpy(halo->rank, fine->rank, fine->n));
  halo->begin[0] = 0;
  for (PetscMPIInt k = 0; k < fine->n; k++) {
    const PetscInt begin = fine->begin[k], end = fine->begin[k + 1];

    halo->first[k] = halo->sends;
    Unique(fine->last[k] - fine->first[k], sent + fine->first[k], mark, &count, halo->row + halo->sends, place);
    halo->last[k] = halo->sends += count;
    Unique(end - begin, ghost + begin, mark, &count, list, of + begin);
    halo->begin[k + 1] = halo->begin[k] + count;
    for (PetscInt g = begin; g < end; g++)
      if (of[g] >= 0) of[g] += halo->begin[k];
  }
  PetscCall(PetscFree(mark));
  PetscCall(PetscFree2(list, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}
