/*
   The stage: memory of the host that all ranks share, through which ranks that share a GPU bring together the parts of
   a gathered system, see gathered.c. Kernels of several processes take turns on a GPU, each of a seventh of a
   millisecond; copies between the GPU and pinned memory of the host do not wait for turns. So only the rank that works
   runs kernels

   The stage has the vectors of the whole, one after the other, and behind them, for few nonzeros, the rows of each rank
   as it has them: first the values of all ranks, then their patterns. The rank that works copies rows to memory of the
   same layout on its device, and there brings them together
*/
#include "hierarchy.h"
#include "../relaxation/shared.h"

enum {
  MOST_BYTES    = 1 << 22, /* of a vector, and */
  MOST_NONZEROS = 1 << 18, /* nonzeros of a rank, on average, for which this takes less time than turns */
  ALIGNED       = 256      /* bytes to which arrays are aligned */
};

/* The arrays of the rows of a rank: of A and B of a BAIMatrix, and the global numbers of ghosts */
enum {
  VALUES_A,
  VALUES_B,
  VALUES,
  ROWS_A = VALUES,
  COLUMNS_A,
  ROWS_B,
  COLUMNS_B,
  GHOSTS,
  ARRAYS
};

typedef struct {
  size_t offset, bytes;
} Piece;

/* The numbers of rows, of entries in columns of this rank and of ghosts, and of ghosts */
typedef struct {
  PetscMPIInt n, inside, outside, ghosts;
} Counts;

struct BAIStage_ {
  BAI        *bai;
  void       *stream;
  BAIMailbox  mailbox;
  PetscMPIInt size, rank;
  size_t      vector, rows, pattern, bytes; /* size of a vector, offsets of rows and of patterns, and size of all */
  Counts     *counts;                       /* of each rank; NULL: the stage has no rows */
  Piece (*piece)[ARRAYS];                   /* arrays of each rank */
};

static char *At(const struct BAIStage_ *S, size_t offset)
{
  return (char *)BAIMailboxOf(S->mailbox, 0) + offset;
}

/* Takes room for an array at the end of the stage */
static Piece Append(BAIStage S, size_t bytes)
{
  const Piece piece = {S->bytes, bytes};

  S->bytes += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return piece;
}

/* Takes room for the rows of all ranks, of which this one has mine */
static PetscErrorCode AppendRows(BAIStage S, const Counts *mine)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(S->size, &S->counts, S->size, &S->piece));
  PetscCallMPI(MPI_Allgather(mine, (PetscMPIInt)sizeof(*mine), MPI_BYTE, S->counts, (PetscMPIInt)sizeof(*mine),
                             MPI_BYTE, PetscObjectComm(S->bai->obj)));
  for (int array = 0; array < ARRAYS; array++) {
    if (array == VALUES) S->pattern = S->bytes;
    for (PetscMPIInt k = 0; k < S->size; k++) {
      const Counts *c               = &S->counts[k];
      const size_t  entries[ARRAYS] = {[VALUES_A]  = (size_t)c->inside,
                                       [VALUES_B]  = (size_t)c->outside,
                                       [ROWS_A]    = c->n ? (size_t)c->n + 1 : 0,
                                       [COLUMNS_A] = (size_t)c->inside,
                                       [ROWS_B]    = c->ghosts ? (size_t)c->n + 1 : 0,
                                       [COLUMNS_B] = (size_t)c->outside,
                                       [GHOSTS]    = (size_t)c->ghosts};

      S->piece[k][array] = Append(S, entries[array] * (array < VALUES ? sizeof(BAIScalar) : sizeof(BAIInt)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plans a stage for count vectors of this many bytes, and for the rows of M, of whose entries outside are in columns of
   ghosts, if all ranks have few. *stage becomes NULL where vectors are too large. BAIStageOpen() must follow.
   Collective */
PetscErrorCode BAIStageCreate(BAI *bai, size_t vector, int count, const BAIMatrix *M, PetscInt nnz, PetscInt outside,
                              PetscInt all, BAIStage *stage)
{
  const Counts mine = {(PetscMPIInt)M->n, (PetscMPIInt)(nnz - outside), (PetscMPIInt)outside, (PetscMPIInt)M->nghost};
  BAIStage     S;

  PetscFunctionBegin;
  *stage = NULL;
  if (vector > MOST_BYTES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(stage));
  S         = *stage;
  S->bai    = bai;
  S->stream = bai->hierarchy->p.stream;
  S->vector = vector;
  S->rows = S->bytes = (size_t)count * vector;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &S->size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(bai->obj), &S->rank));
  if (all / S->size <= MOST_NONZEROS) PetscCall(AppendRows(S, &mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens the memory of the stage, or if it is not wanted, or not possible, destroys the stage. Collective */
PetscErrorCode BAIStageOpen(BAIStage *stage, PetscBool wanted)
{
  BAIStage S = *stage;

  PetscFunctionBegin;
  if (!S) PetscFunctionReturn(PETSC_SUCCESS);
  if (wanted) PetscCall(BAIMailboxGet(S->bai, BAI_BACKEND_HOST, S->bytes, BAI_MAILBOX_PINNED, &S->mailbox, NULL));
  if (!S->mailbox) PetscCall(BAIStageDestroy(stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, when no rank uses the stage any longer */
PetscErrorCode BAIStageDestroy(BAIStage *stage)
{
  PetscFunctionBegin;
  if (!*stage) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIMailboxRestore(&(*stage)->mailbox));
  PetscCall(PetscFree2((*stage)->counts, (*stage)->piece));
  PetscCall(PetscFree(*stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The address of an entry of vector number k */
static char *EntryOf(const struct BAIStage_ *S, int k, BAIInt entry)
{
  return At(S, (size_t)k * S->vector + (size_t)entry * sizeof(BAIScalar));
}

/* Copies n entries of vector number k, from number first on, to the stage, in the order of the stream */
BAIStatus BAIStageSend(const struct BAIStage_ *S, int k, BAIInt first, BAIInt n, const BAIScalar *from)
{
  return BAISharedCopy(BAI_BACKEND_CUDA, EntryOf(S, k, first), from, (size_t)n * sizeof(*from), S->stream);
}

/* Copies such entries from the stage */
BAIStatus BAIStageTake(const struct BAIStage_ *S, int k, BAIInt first, BAIInt n, BAIScalar *to)
{
  return BAISharedCopy(BAI_BACKEND_CUDA, to, EntryOf(S, k, first), (size_t)n * sizeof(*to), S->stream);
}

/* The bytes of the rows of all ranks; 0: they do not go through the stage */
size_t BAIStageRowsBytes(const struct BAIStage_ *S)
{
  return S && S->counts ? S->bytes - S->rows : 0;
}

/* Copies the rows of M to the stage, in the order of the stream; only their values, unless pattern. ghost has the
   global numbers of ghosts */
BAIStatus BAIStageSendRows(const struct BAIStage_ *S, const BAIMatrix *M, const PetscInt ghost[], PetscBool pattern)
{
  const void *const from[ARRAYS] = {[VALUES_A] = M->A.a, [VALUES_B] = M->B.a,  [ROWS_A] = M->A.i, [COLUMNS_A] = M->A.j,
                                    [ROWS_B] = M->B.i,   [COLUMNS_B] = M->B.j, [GHOSTS] = ghost};

  for (int array = 0; array < (pattern ? ARRAYS : VALUES); array++) {
    const Piece *piece = &S->piece[S->rank][array];

    BAITry(BAISharedCopy(array == GHOSTS ? BAI_BACKEND_HOST : BAI_BACKEND_CUDA, At(S, piece->offset), from[array],
                         piece->bytes, S->stream));
  }
  return BAIStatusOf(BAI_OK);
}

/* Brings together the rows of all ranks, which they have sent, as parts of a whole matrix on the device; whole is the
   part of the first rank. rows is room for BAIStageRowsBytes(), whose patterns are kept */
BAIStatus BAIStageTakeRows(const struct BAIStage_ *S, void *rows, PetscBool pattern, const BAIPart *whole)
{
  char *const base = (char *)rows - S->rows;
  BAIPart     part = *whole;

  BAITry(BAISharedCopy(BAI_BACKEND_CUDA, rows, At(S, S->rows), (pattern ? S->bytes : S->pattern) - S->rows, S->stream));
  for (PetscMPIInt k = 0; k < S->size; k++) {
    const Counts *c = &S->counts[k];
    void         *at[ARRAYS];
    BAIMatrix     M = {.n = (BAIInt)c->n, .nghost = (BAIInt)c->ghosts, .memory = BAI_MEMORY_DEVICE};

    for (int array = 0; array < ARRAYS; array++) at[array] = base + S->piece[k][array].offset;
    M.A = (BAICSR){at[ROWS_A], at[COLUMNS_A], at[VALUES_A]};
    if (c->ghosts) M.B = (BAICSR){at[ROWS_B], at[COLUMNS_B], at[VALUES_B]};
    part.ghost = (const BAIInt *)(void *)At(S, S->piece[k][GHOSTS].offset);
    BAITry(BAILevelsStoreMatrix(BAI_BACKEND_CUDA, &M, &part, S->bai->hierarchy->p.device, S->stream));
    part.first += M.n;
    part.before += (BAIInt)(c->inside + c->outside);
    part.i += M.n;
    part.j += c->inside + c->outside;
    part.a += c->inside + c->outside;
  }
  return BAIStatusOf(BAI_OK);
}
