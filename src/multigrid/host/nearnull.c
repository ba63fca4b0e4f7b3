/* Modes of levels and their P on the host */
#include "levels.h"
#include <math.h>
#include <string.h>

/* The sum of conj(x) y over the rows of an aggregate; x and y point to columns of arrays by rows, see BAIAt() */
static BAIScalar Dot(const BAIInt *row, BAIInt count, int modes, const BAIScalar *x, const BAIScalar *y)
{
  BAIScalar sum = 0;

  for (BAIInt l = 0; l < count; l++) sum += BAIConj(x[BAIAt(row[l], modes, 0)]) * y[BAIAt(row[l], modes, 0)];
  return sum;
}

/*
   Orthonormalizes an aggregate's rows of P by Gram-Schmidt with reorthogonalization; dependent columns become zero. The
   modes are P times r, which is modes x modes
*/
static void Orthonormalize(const BAIInt *row, BAIInt count, int modes, const BAIScalar *mode, BAIScalar *P,
                           BAIScalar *r)
{
  for (int k = 0; k < modes; k++) {
    BAIReal before, norm;

    for (BAIInt l = 0; l < count; l++) P[BAIAt(row[l], modes, k)] = mode[BAIAt(row[l], modes, k)];
    for (int i = 0; i < modes; i++) r[i * modes + k] = 0;
    before = (BAIReal)sqrt((double)BAIRealPart(Dot(row, count, modes, P + k, P + k)));
    for (int twice = 0; twice < 2; twice++) {
      for (int i = 0; i < k; i++) {
        const BAIScalar s = Dot(row, count, modes, P + i, P + k);

        r[i * modes + k] += s;
        for (BAIInt l = 0; l < count; l++) P[BAIAt(row[l], modes, k)] -= s * P[BAIAt(row[l], modes, i)];
      }
    }
    norm = (BAIReal)sqrt((double)BAIRealPart(Dot(row, count, modes, P + k, P + k)));
    if (!(norm > BAI_MODES_DEPENDENT * before)) norm = 0;
    r[k * modes + k] = norm;
    for (BAIInt l = 0; l < count; l++) {
      BAIScalar *p = P + BAIAt(row[l], modes, k);

      *p = norm > 0 ? *p * (1 / norm) : 0;
    }
  }
}

/* Copies the modes to state->mode, by rows, and moves the parameter fields, which becomes 1, to points */
BAIStatus BAIHostTakeModes(BAILevelsState state)
{
  const BAIInt n     = state->level[0].A.n;
  const int    modes = state->p.modes;

  state->points   = state->p.fields;
  state->p.fields = 1;
  state->mode     = malloc(((size_t)n * (size_t)modes + 1) * sizeof(*state->mode));
  if (!state->mode) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt i = 0; i < n; i++)
    for (int k = 0; k < modes; k++)
      state->mode[BAIAt(i, modes, k)] = state->p.mode[k] ? state->p.mode[k][i]
        : state->p.constants                             ? BAIConstantOfField(i, state->points, k)
                                                         : 1;
  return BAIStatusOf(BAI_OK);
}

void BAIHostFreeModes(BAILevelsState state)
{
  free(state->mode);
  free(state->next_mode);
  state->mode = state->next_mode = NULL;
}

void BAIHostNextModes(BAILevelsState state)
{
  free(state->mode);
  state->mode      = state->next_mode;
  state->next_mode = NULL;
}

BAIStatus BAIHostOrthonormalize(BAILevelsState state, BAIHostLevel *L)
{
  const int    modes = state->p.modes;
  const size_t n     = (size_t)L->A.n;
  BAIInt      *first = malloc(((size_t)L->m + 2 + n) * sizeof(*first)), *list = first + L->m + 2;

  free(state->next_mode);
  state->next_mode = malloc(((size_t)L->m * (size_t)(modes * modes) + 1) * sizeof(*state->next_mode));
  L->P             = BAIHostKeep(state, (n + (size_t)L->A.ghosts) * (size_t)modes, sizeof(*L->P));
  if (!first || !state->next_mode || !L->P) {
    free(first);
    return BAIStatusOf(BAI_ERR_MEMORY);
  }
  BAIListAggregates(L->A.n, L->m, L->aggregate, first, list);
  memset(L->P, 0, n * (size_t)modes * sizeof(*L->P)); /* for rows in no aggregate */
#pragma omp parallel for num_threads(BAITogether(L->A.n, state->p.threads)) schedule(static)
  for (BAIInt c = 0; c < L->m; c++)
    Orthonormalize(list + first[c], first[c + 1] - first[c], modes, state->mode, L->P,
                   state->next_mode + BAIAt(c, modes * modes, 0));
  free(first);
  return BAIStatusOf(BAI_OK);
}
