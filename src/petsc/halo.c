/* Halos: which ranks read which rows of each other, and exchange of values from owners to ghosts */
#include "baiimpl.h"

PetscErrorCode BAIHaloDestroy(BAIHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(halo->rank, halo->first, halo->last, halo->begin, halo->from));
  PetscCall(PetscFree(halo->row));
  PetscCall(PetscFree(halo->start));
  PetscCall(PetscFree(halo->request));
  *halo = (BAIHalo){.n = 0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that a rank reads of an owner: how many, and the first of them, or -1 if their numbers have gaps */
typedef struct {
  PetscInt count, first;
} Wanted;

/* Finds the owners of ghosts, whose columns ascend, and the ghosts of each */
static PetscErrorCode FindOwners(PetscLayout columns, PetscInt nghost, const PetscInt garray[], PetscMPIInt *n,
                                 PetscMPIInt owner[], Wanted wanted[])
{
  const PetscInt *range;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscLayoutGetRanges(columns, &range));
  for (PetscInt begin = 0, end; begin < nghost; begin = end, ++*n) {
    PetscCall(PetscLayoutFindOwner(columns, garray[begin], &owner[*n]));
    PetscCall(PetscFindInt(range[owner[*n] + 1] - 1, nghost, garray, &end));
    end        = end < 0 ? -end - 1 : end + 1;
    wanted[*n] = (Wanted){end - begin, garray[end - 1] - garray[begin] == end - 1 - begin ? garray[begin] : -1};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells each peer how many rows are sent to it, and the first of them in the order of all that are sent; sets
   halo->from, and unless count is NULL, count to the number of rows that each peer sends. All peers must call it */
static PetscErrorCode TellPeers(BAIHalo *halo, MPI_Comm comm, PetscInt count[])
{
  PetscInt(*out)[2], (*in)[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(halo->n, &out, halo->n, &in));
  if (!halo->request) PetscCall(PetscMalloc1(2 * halo->n, &halo->request));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    out[k][0] = halo->last[k] - halo->first[k];
    out[k][1] = halo->first[k];
    PetscCallMPI(MPI_Irecv(in[k], 2, MPIU_INT, halo->rank[k], halo->tag, comm, &halo->request[2 * k]));
    PetscCallMPI(MPI_Isend(out[k], 2, MPIU_INT, halo->rank[k], halo->tag, comm, &halo->request[2 * k + 1]));
  }
  PetscCallMPI(MPI_Waitall(2 * halo->n, halo->request, MPI_STATUSES_IGNORE));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    if (count) count[k] = in[k][0];
    halo->from[k] = in[k][1];
  }
  PetscCall(PetscFree2(out, in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the sent rows in halo->row, if they are only known by halo->start */
PetscErrorCode BAIHaloRows(BAIHalo *halo)
{
  PetscFunctionBegin;
  if (halo->row || !halo->start) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(halo->sends, &halo->row));
  for (PetscMPIInt k = 0; k < halo->n; k++)
    for (PetscInt i = halo->first[k]; i < halo->last[k]; i++) halo->row[i] = halo->start[k] + i - halo->first[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the local numbers of the rows that other ranks read, in the order of their ghosts. A list with gaps is sent by
   the rank that reads, which wants, to the owner, of whom it is wanted. Collective */
static PetscErrorCode GetRows(Mat A, const PetscInt garray[], const Wanted wants[], const Wanted wanted[],
                              BAIHalo *halo)
{
  const MPI_Comm comm  = PetscObjectComm((PetscObject)A);
  PetscMPIInt    count = 0, length;
  PetscInt       first;
  PetscBool      gaps = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &halo->tag));
  PetscCall(MatGetOwnershipRangeColumn(A, &first, NULL));
  PetscCall(PetscMalloc1(halo->n, &halo->start));
  PetscCall(PetscMalloc1(2 * halo->n, &halo->request));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    halo->start[k] = wanted[k].count ? wanted[k].first - first : 0;
    if (wanted[k].first < 0) gaps = PETSC_TRUE;
  }
  if (gaps) PetscCall(BAIHaloRows(halo));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    if (wanted[k].first < 0) {
      PetscCall(PetscMPIIntCast(wanted[k].count, &length));
      PetscCallMPI(MPI_Irecv(halo->row + halo->first[k], length, MPIU_INT, halo->rank[k], halo->tag, comm,
                             halo->request + count++));
    }
    if (wants[k].first < 0) {
      PetscCall(PetscMPIIntCast(wants[k].count, &length));
      PetscCallMPI(
        MPI_Isend(garray + halo->begin[k], length, MPIU_INT, halo->rank[k], halo->tag, comm, halo->request + count++));
    }
  }
  PetscCallMPI(MPI_Waitall(count, halo->request, MPI_STATUSES_IGNORE));
  for (PetscMPIInt k = 0; k < halo->n; k++)
    for (PetscInt i = halo->first[k]; i < halo->last[k] && wanted[k].first < 0; i++) halo->row[i] -= first;
  PetscCall(TellPeers(halo, comm, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the halo of a matrix whose ghosts have the global columns in garray, which ascend. Peers are ranks that this
   one reads from or that read from it; ghosts are ordered by peer. The caller sets halo->tag. Collective */
PetscErrorCode BAIHaloCreate(Mat A, PetscInt nghost, const PetscInt garray[], BAIHalo *halo)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscLayout    columns;
  PetscMPIInt    size, owners, readers, *owner, *reader, *place;
  Wanted        *of, *by, *wants, *wanted; /* of each owner, and by each reader; the same for each peer */

  PetscFunctionBegin;
  *halo = (BAIHalo){.n = 0};
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetLayouts(A, NULL, &columns));
  PetscCall(PetscMalloc2(size, &owner, size, &of));
  PetscCall(FindOwners(columns, nghost, garray, &owners, owner, of));
  PetscCall(PetscCommBuildTwoSided(comm, 2, MPIU_INT, owners, owner, of, &readers, &reader, &by));
  PetscCall(PetscCalloc3(owners + readers, &wants, owners + readers, &wanted, readers, &place));
  for (PetscMPIInt r = 0; r < readers; r++) place[r] = r;
  PetscCall(PetscSortMPIIntWithArray(readers, reader, place));
  PetscCall(PetscMalloc5(owners + readers, &halo->rank, owners + readers + 1, &halo->first, owners + readers,
                         &halo->last, owners + readers + 1, &halo->begin, owners + readers, &halo->from));
  halo->begin[0] = 0;
  for (PetscMPIInt i = 0, o = 0; i < owners || o < readers; halo->n++) {
    const PetscMPIInt k    = halo->n;
    const PetscBool   read = (PetscBool)(i < owners && (o == readers || owner[i] <= reader[o]));
    const PetscBool   sent = (PetscBool)(o < readers && (i == owners || reader[o] <= owner[i]));

    halo->rank[k] = read ? owner[i] : reader[o];
    if (read) wants[k] = of[i++];
    if (sent) wanted[k] = by[place[o++]];
    halo->first[k]     = halo->sends;
    halo->begin[k + 1] = halo->begin[k] + wants[k].count;
    halo->last[k]      = halo->sends += wanted[k].count;
  }
  halo->first[halo->n] = halo->sends;
  PetscCall(GetRows(A, garray, wants, wanted, halo));
  PetscCall(PetscFree2(owner, of));
  PetscCall(PetscFree3(wants, wanted, place));
  PetscCall(PetscFree(reader));
  PetscCall(PetscFree(by));
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
  PetscCall(
    PetscMalloc5(size, &halo->rank, size, &halo->first, size, &halo->last, size + 1, &halo->begin, size, &halo->from));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPIU_INT, rows, 1, MPIU_INT, comm));
  halo->begin[0] = 0;
  for (PetscMPIInt k = 0; k < size && mine; k++) {
    if (k == rank || !rows[k]) continue;
    halo->rank[halo->n]      = k;
    halo->first[halo->n]     = 0;
    halo->last[halo->n]      = mine;
    halo->from[halo->n]      = 0;
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
   row, in the order in which they are sent, and is not indexed by row. All peers must call it */
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

/* Replaces each sent row k, and each ghost k, by the rows k * rows to k * rows + rows - 1 */
PetscErrorCode BAIHaloExpand(BAIHalo *halo, PetscInt rows)
{
  PetscInt *row;

  PetscFunctionBegin;
  if (rows == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscAssert(halo->row || !halo->sends, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows that are sent are not listed");
  PetscCall(PetscMalloc1(halo->sends * rows, &row));
  for (PetscInt k = 0; k < halo->sends * rows; k++) row[k] = halo->row[k / rows] * rows + k % rows;
  PetscCall(PetscFree(halo->row));
  halo->row = row;
  halo->sends *= rows;
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    halo->first[k] *= rows;
    halo->last[k] *= rows;
    halo->begin[k + 1] *= rows;
    halo->from[k] *= rows;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the halo of the next level. The rows that peer k reads there are count[k] aggregates, and row has those for
   all peers, one peer after the other; NULL: the caller knows them. All peers must call it */
PetscErrorCode BAIHaloCoarsen(const BAIHalo *fine, MPI_Comm comm, const PetscInt count[], const PetscInt row[],
                              BAIHalo *halo)
{
  PetscFunctionBegin;
  *halo = (BAIHalo){.n = fine->n, .tag = fine->tag};
  PetscCall(PetscMalloc5(fine->n, &halo->rank, fine->n, &halo->first, fine->n, &halo->last, fine->n + 1, &halo->begin,
                         fine->n, &halo->from));
  PetscCall(PetscArraycpy(halo->rank, fine->rank, fine->n));
  for (PetscMPIInt k = 0; k < fine->n; k++) {
    halo->first[k] = halo->sends;
    halo->last[k]  = halo->sends += count[k];
  }
  if (row) PetscCall(PetscMalloc1(halo->sends, &halo->row));
  if (row) PetscCall(PetscArraycpy(halo->row, row, halo->sends));
  halo->begin[0] = 0;
  PetscCall(TellPeers(halo, comm, halo->begin + 1));
  for (PetscMPIInt k = 0; k < fine->n; k++) halo->begin[k + 1] += halo->begin[k];
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
