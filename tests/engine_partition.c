static char help[] = "The engine's partitions of rows into blocks, and its colourings of blocks.\n\n";

#include "check.h"
#include "../src/relaxation/coloring.h"
#include "../src/relaxation/partition.h"

/* Each of n groups is coupled with the reach groups before it: no two neighbours in one turn, every group in one turn,
 * and no more colours than the graph needs */
static PetscErrorCode CheckColors(int n, int reach, int wanted)
{
  int     *first, *lower, *order, *rank, *turn_first, turns, colors, couplings = 0;
  BAIGraph graph;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc5(n + 1, &first, (size_t)n * (size_t)reach + 1, &lower, n + 1, &order, n + 1, &rank, n + 1,
                         &turn_first));
  for (int g = 0; g < n; g++) {
    for (int other = PetscMax(0, g - reach); other < g; other++) lower[couplings++] = other;
    first[g + 1] = couplings;
  }
  graph.n     = n;
  graph.first = first;
  graph.lower = lower;
  PetscCheck(!BAIColor(&graph, order, rank, turn_first, &turns, &colors).code, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Out of memory");
  PetscCall(Expect(colors == wanted, "%d colors, not %d", colors, wanted));
  if (turns < colors || (turns ? turn_first[0] : 0) || turn_first[turns] != n)
    PetscCall(Expect(PETSC_FALSE, "the turns do not have all groups"));
  for (int t = 0; t < turns; t++) {
    for (int k = turn_first[t]; k < turn_first[t + 1]; k++) {
      if (rank[order[k]] != k) PetscCall(Expect(PETSC_FALSE, "rank is not the inverse of order"));
      for (int e = first[order[k]]; e < first[order[k] + 1]; e++) {
        if (turn_first[t] <= rank[lower[e]] && rank[lower[e]] < turn_first[t + 1])
          PetscCall(Expect(PETSC_FALSE, "neighbours in one turn"));
      }
    }
  }
  PetscCall(PetscFree5(first, lower, order, rank, turn_first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every row once, in blocks that are not too large */
static PetscErrorCode CheckPartition(BAIInt n, BAIInt max_rows, BAIStatus status, BAIInt blocks, const BAIInt *first,
                                     const BAIInt *row)
{
  PetscBool *seen;

  PetscFunctionBeginUser;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", BAICodeString(status.code));
  PetscCall(PetscCalloc1(n + 1, &seen));
  if (first[0] || first[blocks] != n) PetscCall(Expect(PETSC_FALSE, "not all of %d rows", (int)n));
  for (BAIInt b = 0; b < blocks; b++) {
    if (first[b + 1] <= first[b] || first[b + 1] - first[b] > max_rows)
      PetscCall(Expect(PETSC_FALSE, "block %d of %d has %d rows, allowed are %d", (int)b, (int)blocks,
                       (int)(first[b + 1] - first[b]), (int)max_rows));
  }
  for (BAIInt place = 0; place < n; place++) {
    if (row[place] < 0 || row[place] >= n || seen[row[place]])
      PetscCall(Expect(PETSC_FALSE, "row %d is not there, or a second time", (int)row[place]));
    else seen[row[place]] = PETSC_TRUE;
  }
  PetscCall(PetscFree(seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A path whose n rows are numbered by threes: 0, 3, 6, ..., 1, 4, ...; row has the place on the path of each row */
static PetscErrorCode CreatePath(BAIInt n, BAIInt *i, BAIInt *j, PetscScalar *a, BAIInt *at, BAIInt *row)
{
  BAIInt nnz = 0;

  PetscFunctionBeginUser;
  for (BAIInt k = 0, p = 0; k < 3; k++)
    for (BAIInt r = k; r < n; r += 3) at[p++] = r;
  for (BAIInt p = 0; p < n; p++) row[at[p]] = p;
  for (BAIInt r = 0; r < n; r++) {
    i[r] = nnz;
    for (BAIInt p = PetscMax(row[r] - 1, 0); p <= PetscMin(row[r] + 1, n - 1); p++) {
      j[nnz]   = at[p];
      a[nnz++] = at[p] == r ? 2 : -1;
    }
  }
  i[n] = nnz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks along couplings, which cut few of a path's; nan: some couplings are not numbers */
static PetscErrorCode CheckPath(BAIInt n, PetscBool nan)
{
  PetscScalar *a;
  BAIInt      *i, *j, *at, blocks, *first, *row, cut = 0;
  BAICSR       csr;
  BAIStatus    status;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(n + 1, &i, 3 * n, &j, 3 * n, &a, n + 1, &first, n + 1, &row, n + 1, &at));
  PetscCall(CreatePath(n, i, j, a, at, row));
  csr.i = i;
  csr.j = j;
  csr.a = (const BAIScalar *)a;
  for (BAIInt k = 0; k < i[1] && nan; k++) a[k] = NAN;
  status = BAIPartitionGraph(n, &csr, 16, &blocks, first, row);
  PetscCall(CheckPartition(n, 16, status, blocks, first, row));
  for (BAIInt b = 0; b < blocks; b++)
    for (BAIInt p = first[b]; p < first[b + 1]; p++) at[row[p]] = b;
  for (BAIInt r = 0; r < n; r++)
    for (BAIInt k = i[r]; k < i[r + 1]; k++) cut += at[j[k]] != at[r];
  PetscCall(Expect(cut <= 6 * blocks, "%d couplings between %d blocks of a path", (int)cut, (int)blocks));
  PetscCall(PetscFree6(i, j, a, first, row, at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows in clusters of four, coupled by 1 inside and weakly to the next cluster and the one before: numbered side by
   side, or as far apart as can be. What grown blocks leave outside is weak couplings only; consecutive rows leave
   outside all others if clusters are apart
*/
static PetscErrorCode CheckTry(BAIInt clusters, PetscBool apart, BAIInt block_size, PetscReal weak)
{
  enum {
    SIZE = 4
  };
  const BAIInt n      = clusters * SIZE;
  const double inside = SIZE - 1, most = 2 * weak / (inside + 2 * weak); /* most: of the weak ones */
  BAIInt      *i, *j, nnz = 0;
  PetscScalar *a;
  BAICSR       csr;
  double       consecutive, grown;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n + 1, &i, n * (SIZE + 2) + 1, &j, n * (SIZE + 2) + 1, &a));
  for (BAIInt r = 0; r < n; r++) {
    const BAIInt cluster = apart ? r % clusters : r / SIZE, place = apart ? r / clusters : r % SIZE;

    i[r] = nnz;
    for (BAIInt k = 0; k < SIZE + 2; k++) {
      const BAIInt other = k < SIZE ? cluster : (cluster + (k == SIZE ? 1 : clusters - 1)) % clusters,
                   p     = k < SIZE ? k : place;

      j[nnz] = apart ? other + p * clusters : other * SIZE + p;
      a[nnz] = j[nnz] == r ? -1e9 : k < SIZE ? 1 : (PetscScalar)weak;
      nnz++;
    }
  }
  i[n]  = nnz;
  csr.i = i;
  csr.j = j;
  csr.a = (const BAIScalar *)a;
  PetscCheck(!BAIPartitionTry(n, &csr, block_size, &consecutive, &grown).code, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Out of memory");
  if (apart && block_size < n && weak < 0.25) {
    PetscCall(Expect(grown <= most, "grown blocks leave %g outside, weak couplings are %g", grown, most));
    PetscCall(Expect(consecutive >= 1 - most, "consecutive rows leave %g outside, strong couplings are %g", consecutive,
                     1 - most));
  } else PetscCall(Expect(grown == consecutive, "blocks are tried in vain: %g, %g", grown, consecutive));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    int         groups, reach, colors;
  } graphs[] = {
    {"no_groups",    0,     1,  0 },
    {"one_group",    1,     1,  1 },
    {"no_couplings", 50,    0,  1 },
    {"path",         20000, 1,  2 },
    {"complete",     20,    19, 20},
    {"band",         10000, 3,  4 }
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(graphs); g++) {
    if (Case("colors_%s", graphs[g].name)) PetscCall(CheckColors(graphs[g].groups, graphs[g].reach, graphs[g].colors));
  }
  for (BAIInt n = 1; n < 200; n += 66) {
    if (Case("path_%d_rows", (int)n)) PetscCall(CheckPath(n, PETSC_FALSE));
  }
  if (Case("path_nan")) PetscCall(CheckPath(133, PETSC_TRUE));
  if (Case("try_side_by_side")) PetscCall(CheckTry(200, PETSC_FALSE, 64, 0.001));
  if (Case("try_apart")) PetscCall(CheckTry(200, PETSC_TRUE, 64, 0.001));
  if (Case("try_apart_alike")) PetscCall(CheckTry(200, PETSC_TRUE, 64, 1));
  if (Case("try_one_block")) PetscCall(CheckTry(8, PETSC_TRUE, 64, 0.001));
  if (Case("try_no_rows")) PetscCall(CheckTry(0, PETSC_TRUE, 64, 0.001));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   test:
      suffix: host
      output_file: output/empty.out

TEST*/
