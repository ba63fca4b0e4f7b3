/* Halos: which ranks read which rows of each other, and exchange of values from owners to ghosts */
#include "baiimpl.h"

PetscErrorCode BAIHaloDestroy(BAIHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(halo->rank, halo->first, halo->last, halo->begin));
  PetscCall(PetscFree(halo->row));
  PetscCall(PetscFree(halo->request));
  *halo = (BAIHalo){.n = 0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the owners of ghosts, whose columns ascend, and the number of ghosts of each */
static PetscErrorCode FindOwners(PetscLayout columns, PetscInt nghost, const PetscInt garray[], PetscMPIInt *n,
                                 PetscMPIInt owner[], PetscInt count[])
{
  const PetscInt *range;
  PetscInt        end;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscLayoutGetRanges(columns, &range));
  for (PetscInt begin = 0; begin < nghost; begin = end) {
    PetscCall(PetscLayoutFindOwner(columns, garray[begin], &owner[*n]));
    for (end = begin + 1; end < nghost && garray[end] < range[owner[*n] + 1];) end++;
    count[(*n)++] = end - begin;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes halo->row, the local numbers of the rows that other ranks read, in the order of their ghosts. Collective */
static PetscErrorCode GetRows(Mat A, const PetscInt garray[], BAIHalo *halo)
{
  BAIHalo  reverse = {.n = halo->n, .rank = halo->rank, .first = halo->begin, .last = halo->begin + 1};
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &reverse.tag));
  PetscCall(PetscMalloc1(halo->sends, &halo->row));
  PetscCall(PetscMalloc1(2 * halo->n, &halo->request));
  halo->first[halo->n] = halo->sends;
  reverse.begin        = halo->first;
  reverse.request      = halo->request;
  PetscCall(BAIHaloExchange(&reverse, PetscObjectComm((PetscObject)A), sizeof(PetscInt), garray, halo->row));
  PetscCall(MatGetOwnershipRangeColumn(A, &first, NULL));
  for (PetscInt k = 0; k < halo->sends; k++) halo->row[k] -= first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the halo of a matrix whose ghosts have the global columns in garray, which ascend. Peers are ranks that this
   one reads from or that read from it; ghosts are ordered by peer. The caller sets halo->tag. Collective */
PetscErrorCode BAIHaloCreate(Mat A, PetscInt nghost, const PetscInt garray[], BAIHalo *halo)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscLayout    columns;
  PetscMPIInt    size, owners, readers, *owner, *reader;
  PetscInt      *in, *out;

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = 0};
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetLayouts(A, NULL, &columns));
  PetscCall(PetscMalloc2(size, &owner, size, &in));
  PetscCall(FindOwners(columns, nghost, garray, &owners, owner, in));
  PetscCall(PetscCommBuildTwoSided(comm, 1, MPIU_INT, owners, owner, in, &readers, &reader, &out));
  PetscCall(PetscSortMPIIntWithIntArray(readers, reader, out));
  PetscCall(PetscMalloc4(owners + readers, &halo->rank, owners + readers + 1, &halo->first, owners + readers,
                         &halo->last, owners + readers + 1, &halo->begin));
  halo->begin[0] = 0;
  for (PetscMPIInt i = 0, o = 0; i < owners || o < readers; halo->n++) {
    const PetscMPIInt k    = halo->n;
    const PetscBool   read = (PetscBool)(i < owners && (o == readers || owner[i] <= reader[o]));
    const PetscBool   sent = (PetscBool)(o < readers && (i == owners || reader[o] <= owner[i]));

    halo->rank[k]      = read ? owner[i] : reader[o];
    halo->first[k]     = halo->sends;
    halo->begin[k + 1] = halo->begin[k] + (read ? in[i++] : 0);
    halo->last[k]      = halo->sends += sent ? out[o++] : 0;
  }
  PetscCall(GetRows(A, garray, halo));
  PetscCall(PetscFree2(owner, in));
  PetscCall(PetscFree(reader));
  PetscCall(PetscFree(out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a halo in which every rank with rows reads all rows of the others; mine is the number of rows of this rank.
   Collective */
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

/* Sends items of size bytes and receives those of all ghosts, in their order; waits. sent has one item for each sent
   row, in the order of halo->row, and is not indexed by row. All peers must call it */
PetscErrorCode BAIHaloExchange(BAIHalo *halo, MPI_Comm comm, size_t size, const void *sent, void *ghosts)
{
  PetscMPIInt count = 0, bytes;

  PetscFunctionBegin;
  if (!halo->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (!halo->request) PetscCall(PetscCalloc1(2 * halo->n, &halo->request));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    const PetscInt in = halo->begin[k + 1] - halo->begin[k], out = halo->last[k] - halo->first[k];
    PetscInt       all = 0;

    if (in) {
      PetscCall(PetscIntMultError(in, (PetscInt)size, &all));
      PetscCall(PetscMPIIntCast(all, &bytes));
      PetscCallMPI(MPI_Irecv((char *)ghosts + (size_t)halo->begin[k] * size, bytes, MPI_BYTE, halo->rank[k], halo->tag,
                             comm, halo->request + count++));
    }
    if (out) {
      PetscCall(PetscIntMultError(out, (PetscInt)size, &all));
      PetscCall(PetscMPIIntCast(all, &bytes));
      PetscCallMPI(MPI_Isend((const char *)sent + (size_t)halo->first[k] * size, bytes, MPI_BYTE, halo->rank[k],
                             halo->tag, comm, halo->request + count++));
    }
  }
  PetscCallMPI(MPI_Waitall(count, halo->request, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the numbers that are not negative without repetition, in the order of their first occurrence; list has room for
   n numbers. Replaces each number by its index in the list, or by -1. Needs memory for all numbers from the least to the
   largest one */
static PetscErrorCode Unique(PetscInt n, PetscInt number[], PetscInt *count, PetscInt list[])
{
  PetscInt least = PETSC_MAX_INT, most = -1, *mark;

  PetscFunctionBegin;
  *count = 0;
  for (PetscInt k = 0; k < n; k++) {
    if (number[k] < 0) continue;
    least = PetscMin(least, number[k]);
    most  = PetscMax(most, number[k]);
  }
  if (most < 0) least = 0;
  PetscCall(PetscCalloc1(most - least + 1, &mark)); /* index of each number in the list, plus 1 */
  for (PetscInt k = 0; k < n; k++) {
    PetscInt *to = number[k] < 0 ? NULL : &mark[number[k] - least];

    if (to && !*to) {
      list[*count] = number[k];
      *to          = ++*count;
    }
    number[k] = to ? *to - 1 : -1;
  }
  PetscCall(PetscFree(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces each sent row k, and each ghost k, by the rows k * rows to k * rows + rows - 1 */
PetscErrorCode BAIHaloExpand(BAIHalo *halo, PetscInt rows)
{
  PetscInt *row;

  PetscFunctionBegin;
  if (rows == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(halo->sends * rows, &row));
  for (PetscInt k = 0; k < halo->sends * rows; k++) row[k] = halo->row[k / rows] * rows + k % rows;
  PetscCall(PetscFree(halo->row));
  halo->row = row;
  halo->sends *= rows;
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    halo->first[k] *= rows;
    halo->last[k] *= rows;
    halo->begin[k + 1] *= rows;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the halo of the next level from the aggregates of sent rows, or -1, in the order of fine->row. An owner
   numbers the aggregates that a peer will read, and tells it the number of each row; sent is overwritten by them. of
   gets the ghost of the next level that each ghost belongs to, or -1. All peers must call it */
PetscErrorCode BAIHaloCoarsen(BAIHalo *fine, MPI_Comm comm, PetscInt sent[], BAIHalo *halo, PetscInt of[])
{
  PetscInt count;

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = fine->n, .tag = fine->tag};
  PetscCall(PetscMalloc4(fine->n, &halo->rank, fine->n, &halo->first, fine->n, &halo->last, fine->n + 1, &halo->begin));
  PetscCall(PetscMalloc1(fine->sends, &halo->row));
  PetscCall(PetscArraycpy(halo->rank, fine->rank, fine->n));
  halo->begin[0] = 0;
  for (PetscMPIInt k = 0; k < fine->n; k++) {
    halo->first[k] = halo->sends;
    PetscCall(Unique(fine->last[k] - fine->first[k], sent + fine->first[k], &count, halo->row + halo->sends));
    halo->last[k] = halo->sends += count;
  }
  PetscCall(BAIHaloExchange(fine, comm, sizeof(*sent), sent, of));
  for (PetscMPIInt k = 0; k < fine->n; k++) {
    halo->begin[k + 1] = halo->begin[k];
    for (PetscInt g = fine->begin[k]; g < fine->begin[k + 1]; g++) {
      if (of[g] >= 0) of[g] += halo->begin[k];
      halo->begin[k + 1] = PetscMax(halo->begin[k + 1], of[g] + 1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the number of the first of something on each rank, and behind the last, where this rank has n; the caller frees
   first. Collective */
PetscErrorCode BAIFindFirst(MPI_Comm comm, PetscInt n, PetscMPIInt **first)
{
  PetscMPIInt mine = (PetscMPIInt)n, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscCalloc1(size + 1, first));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, *first + 1, 1, MPI_INT, comm));
  for (PetscMPIInt k = 0; k < size; k++) (*first)[k + 1] += (*first)[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together an array, of which each rank has its entries in place: those from first[rank] to first[rank + 1] - 1,
   of size bytes each. Collective */
PetscErrorCode BAIGatherInPlace(MPI_Comm comm, const PetscMPIInt first[], size_t size, void *all)
{
  PetscMPIInt  ranks, *count;
  MPI_Datatype type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  PetscCall(PetscMalloc1(ranks, &count));
  for (PetscMPIInt k = 0; k < ranks; k++) count[k] = first[k + 1] - first[k];
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)size, MPI_BYTE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  PetscCallMPI(MPI_Allgatherv(MPI_IN_PLACE, 0, type, all, count, first, type, comm));
  PetscCallMPI(MPI_Type_free(&type));
  PetscCall(PetscFree(count));
  PetscFunctionReturn(PETSC_SUCCESS);
}
