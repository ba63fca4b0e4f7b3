/* The matrix of the finest level on the host: taken from the caller and examined */
#include "../findings.h"
#include "levels.h"
#include <string.h>

void BAIHostFreeRows(BAIRows *A)
{
  free(A->i);
  free(A->j);
  free(A->a);
  *A = (BAIRows){0};
}

/* Takes the matrix of the caller, or if it has ghosts, copies it with the entries of ghosts behind the others of a
   row */
static BAIStatus Copy(BAILevelsState state, const BAIMatrix *M)
{
  const BAIInt n  = M->n;
  BAIRows     *A  = &state->level[0].A;
  BAIInt       at = 0;

  if (A->ghosts) BAIHostFreeRows(A);
  if (!M->nghost) {
    *A = (BAIRows){n, 0, M->A.i[n], (BAIInt *)M->A.i, (BAIInt *)M->A.j, (BAIScalar *)M->A.a};
    return BAIStatusOf(BAI_OK);
  }
  *A = (BAIRows){.n = n, .ghosts = M->nghost, .nnz = M->A.i[n] + M->B.i[n]};
  BAI_KEEP(A->i, n + 1);
  BAI_KEEP(A->j, A->nnz);
  BAI_KEEP(A->a, A->nnz);
  for (BAIInt row = 0; row < n; row++) {
    A->i[row] = at;
    for (BAIInt k = M->A.i[row]; k < M->A.i[row + 1]; k++, at++) {
      A->j[at] = M->A.j[k];
      A->a[at] = M->A.a[k];
    }
    for (BAIInt k = M->B.i[row]; k < M->B.i[row + 1]; k++, at++) {
      A->j[at] = n + M->B.j[k];
      A->a[at] = M->B.a[k];
    }
  }
  A->i[n] = at;
  return BAIStatusOf(BAI_OK);
}

/* Examines all rows */
static BAIFindings Look(BAILevelsState state, const BAIRows *A)
{
  const BAIInt longest = BAILevelsLongest(&state->p);
  BAIFindings  all     = BAIFindingsNone(A->n);

#pragma omp parallel num_threads(BAITogether(A->n, state->p.threads))
  {
    BAIFindings mine = BAIFindingsNone(A->n);

#pragma omp for schedule(static)
    for (BAIInt row = 0; row < A->n; row++) {
      if (A->i[row + 1] - A->i[row] > longest) BAILookAtLongRow(A, row, &mine);
      else BAILookAtRow(A, state->p.first, state->p.ghost, row, 0, 1, &mine);
    }
#pragma omp critical(BAILook)
    all = BAIFindingsTogether(&all, &mine);
  }
  return all;
}

/* Whether some a_ij differs from conj(a_ji) by more than rounding; rows too long for levels are left out */
static int Differs(BAILevelsState state, const BAIRows *A)
{
  const BAIInt longest = BAILevelsLongest(&state->p);
  int          differs = 0;

#pragma omp parallel for num_threads(BAITogether(A->n, state->p.threads)) schedule(static) reduction(|| : differs)
  for (BAIInt row = 0; row < A->n; row++)
    differs = differs || (A->i[row + 1] - A->i[row] <= longest && BAIDiffersFromMirror(A, row, 0, 1));
  return differs;
}

/* Sets the finest matrix, pattern, info and over. BAI_ERR_PATTERN if levels were made for another one */
BAIStatus BAIHostTake(BAILevelsState state, const BAIMatrix *matrix)
{
  const BAIRows *A = &state->level[0].A;
  BAIFindings    found;

  BAITry(Copy(state, matrix));
  found = Look(state, A);
  found.pattern += BAIHash((uint64_t)matrix->n);
  if (state->levels && found.pattern != state->pattern) return BAIStatusOf(BAI_ERR_PATTERN);
  state->pattern = found.pattern;
  return BAITakeFindings(&found, !state->p.like && BAIMustCompare(&found) && Differs(state, A), &state->p, matrix->n,
                         &state->info, &state->over);
}

BAIStatus BAIHostTakeSign(BAILevelsState state)
{
  BAIRows *A = &state->level[0].A;

  if (!state->info.negative) return BAIStatusOf(BAI_OK);
  if (!A->ghosts && !state->negated) BAI_KEEP(state->negated, A->nnz);
  if (!A->ghosts) memcpy(state->negated, A->a, (size_t)A->nnz * sizeof(*A->a));
  if (!A->ghosts) A->a = state->negated; /* the caller's arrays do not change */
  for (int64_t k = 0; k < A->nnz; k++) A->a[k] = -A->a[k];
  return BAIStatusOf(BAI_OK);
}
