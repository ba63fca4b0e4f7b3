static char help[] = "Statistics count what happens: staleness as the mode promises, every update of every block, and "
                     "they change nothing.\n\n";

#include "check.h"
#include "gallery.h"
#include "../bench/parts/energy.h"
#include <unistd.h>

enum {
  STALE = 32
};

typedef struct {
  PetscReal iterations, blocks, least, most, reads[2 * STALE + 1], all;
} Counted;

static PetscErrorCode Create(const char matrix[], PetscInt n, BAIMode mode, Mat *A, Vec *b, Vec *x, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, A));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(VecSet(*b, 1));
  PetscCall(NewKSP(*A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscCall(KSPBAISetMomentum(*ksp, 0));
  PetscCall(KSPBAISetBlockSize(*ksp, 128));
  PetscCall(SetOption((PetscObject)*ksp, "stats", "true"));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table, read as a program would */
static PetscErrorCode Read(KSP ksp, Counted *c)
{
  char        text[10000], *rest = text;
  PetscMPIInt rank;
  PetscViewer viewer;
  FILE       *file = NULL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_CSV));
  PetscCall(KSPBAIStatsView(ksp, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (!rank) {
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(text, sizeof(text), MPI_CHAR, 0, PETSC_COMM_WORLD));
  *c = (Counted){.iterations = -1};
  PetscCall(Expect(!strncmp(rest, "quantity,of,value\n", 18), "the first line is not that of a table"));
  strsep(&rest, "\n");
  while (rest && *rest) {
    char           *line = strsep(&rest, "\n"), *quantity = strsep(&line, ","), *of = strsep(&line, ",");
    const PetscReal value = line ? (PetscReal)strtod(line, NULL) : -1;

    PetscCall(Expect(of && line, "a line with %s has not three columns", quantity));
    if (!of || !line) break;
    if (!strcmp(quantity, "iterations")) c->iterations = value;
    else if (!strcmp(quantity, "blocks")) c->blocks = value;
    else if (!strcmp(quantity, "updates")) *(of[0] == 'l' ? &c->least : &c->most) = value;
    else if (!strcmp(quantity, "reads")) {
      const int stale = atoi(of);

      PetscCall(Expect(stale >= -STALE && stale <= STALE, "staleness %s", of));
      if (stale >= -STALE && stale <= STALE) c->reads[stale + STALE] = value;
      c->all += value;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of blocks of 128 rows of a rank that one of them reads the other in */
static PetscErrorCode CountPairs(Mat A, PetscReal *pairs)
{
  PetscInt   start, end, blocks;
  PetscBool *reads;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  blocks = (end - start + 127) / 128;
  PetscCall(PetscCalloc1(blocks * blocks, &reads));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt *cols;
    PetscInt        n;

    PetscCall(MatGetRow(A, row, &n, &cols, NULL));
    for (PetscInt k = 0; k < n; k++) {
      if (cols[k] >= start && cols[k] < end) reads[(row - start) / 128 * blocks + (cols[k] - start) / 128] = PETSC_TRUE;
    }
    PetscCall(MatRestoreRow(A, row, &n, &cols, NULL));
  }
  *pairs = 0;
  for (PetscInt k = 0; k < blocks * blocks; k++) *pairs += k % (blocks + 1) && reads[k] ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, pairs, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFree(reads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each mode promises of staleness; and the counts are complete, and change nothing */
static PetscErrorCode TestMode(const char matrix[], PetscInt n, BAIMode mode)
{
  Mat       A;
  Vec       b, x, y;
  KSP       ksp;
  Counted   c;
  PetscInt  its;
  PetscReal pairs, older = 0, other = 0;
  PetscBool same, has = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(Create(matrix, n, mode, &A, &b, &x, &ksp));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(CountPairs(A, &pairs));
  for (int solve = 0; solve < 2; solve++) { /* what the first one counted is forgotten */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Read(ksp, &c));
    PetscCall(Expect(c.iterations == (PetscReal)its, "%g iterations, not %" PetscInt_FMT, (double)c.iterations, its));
    PetscCall(Expect(c.least == (PetscReal)its && c.most == (PetscReal)its,
                     "between %g and %g updates of a block, not %" PetscInt_FMT, (double)c.least, (double)c.most, its));
    PetscCall(
      Expect(c.all == pairs * (PetscReal)its, "%g reads, not %g", (double)c.all, (double)(pairs * (PetscReal)its)));
  }
  for (int stale = -STALE; stale <= STALE; stale++) {
    older += stale > 0 ? c.reads[stale + STALE] : 0;
    other += stale != 0 && stale != -1 ? c.reads[stale + STALE] : 0;
  }
  if (mode == BAI_MODE_SYNC)
    PetscCall(Expect(c.reads[STALE] == c.all, "mode sync: %g of %g reads are of the previous iterate",
                     (double)c.reads[STALE], (double)c.all));
  if (mode == BAI_MODE_COLOR)
    PetscCall(Expect(other == 0 && c.reads[STALE] == c.reads[STALE - 1],
                     "mode color: %g reads of the previous iterate, %g of the newest, %g others",
                     (double)c.reads[STALE], (double)c.reads[STALE - 1], (double)other));
  if (mode == BAI_MODE_LAUNCH)
    PetscCall(
      Expect(other == 0, "mode launch: %g reads neither of the previous iterate nor of the next", (double)other));
  PetscCall(ViewHas((PetscObject)ksp, "statistics of the last solve", &has));
  PetscCall(Expect(has, "the view has no statistics"));
  if (mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR) {
    PetscCall(VecCopy(x, y));
    PetscCall(SetOption((PetscObject)ksp, "stats", "false"));
    PetscCall(KSPBAISetCheckInterval(ksp, its)); /* of a device that solves at once too */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(VecEqual(x, y, &same));
    PetscCall(Expect(same, "x is not that without statistics"));
    PetscCall(ViewHas((PetscObject)ksp, "statistics", &has));
    PetscCall(Expect(!has, "the view has statistics that nobody asked for"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option names a viewer */
static PetscErrorCode TestViewer(void)
{
  Mat         A;
  Vec         b, x;
  KSP         ksp;
  char        file[PETSC_MAX_PATH_LEN], text[1000] = "";
  char        option[PETSC_MAX_PATH_LEN];
  PetscMPIInt rank;
  FILE       *f;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, file, sizeof(file)));
  PetscCall(PetscSNPrintf(text, sizeof(text), "/baistats%d.csv", (int)getpid()));
  PetscCallMPI(MPI_Bcast(text, sizeof(text), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(PetscStrlcat(file, text, sizeof(file)));
  PetscCall(PetscSNPrintf(option, sizeof(option), ":%s:ascii_csv", file));
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_bai_stats", option));
  PetscCall(Create("fv1", 20, BAI_MODE_SYNC, &A, &b, &x, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  if (!rank) {
    f = fopen(file, "r");
    if (f) {
      text[fread(text, 1, sizeof(text) - 1, f)] = 0;
      fclose(f);
      remove(file);
    } else text[0] = 0;
  }
  PetscCallMPI(MPI_Bcast(text, sizeof(text), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(Expect(!strncmp(text, "quantity,of,value\niterations,,", 30), "the file begins with %.30s", text));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_bai_stats"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counters of energy begin anew at their range, and what cannot be read is no number of joules */
static PetscErrorCode TestEnergy(void)
{
  const BAIEnergyMeter before = {
    .gpu_known = 1, .gpu = 1000, .zones = 2, .zone = {500000,   9000000 },
               .range = {10000000, 10000000}
  };
  const BAIEnergyMeter after = {
    .gpu_known = 1, .gpu = 3500, .zones = 2, .zone = {1500000,  2000000 },
               .range = {10000000, 10000000}
  };
  const BAIEnergyMeter none = {.gpu_known = 0};
  BAIEnergyMeter       now[2];

  PetscFunctionBeginUser;
  PetscCall(Expect(PetscAbsReal((PetscReal)BAIEnergyOfGPU(&before, &after) - 2.5) < 1e-12, "%g joules of the GPU",
                   BAIEnergyOfGPU(&before, &after)));
  PetscCall(Expect(PetscAbsReal((PetscReal)BAIEnergyOfCPU(&before, &after) - 4) < 1e-12, "%g joules of the processors",
                   BAIEnergyOfCPU(&before, &after)));
  PetscCall(Expect(BAIEnergyOfGPU(&before, &none) < 0 && BAIEnergyOfCPU(&none, &none) < 0,
                   "%g and %g joules of no counter", BAIEnergyOfGPU(&before, &none), BAIEnergyOfCPU(&none, &none)));
  for (int k = 0; k < 2; k++) BAIEnergyRead(NULL, &now[k]);
  PetscCall(Expect(!now[0].gpu_known && now[0].zones == now[1].zones, "what can be read changes: %d, then %d",
                   now[0].zones, now[1].zones));
  PetscCall(
    Expect(!now[0].zones || BAIEnergyOfCPU(&now[0], &now[1]) >= 0, "%g joules", BAIEnergyOfCPU(&now[0], &now[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int mode = 0; mode < 4; mode++) {
    if (Case("%s_fv1", BAIModes[mode])) PetscCall(TestMode("fv1", 60, (BAIMode)mode));
    if (Case("%s_trefethen", BAIModes[mode])) PetscCall(TestMode("trefethen", 2000, (BAIMode)mode));
  }
  if (Case("viewer")) PetscCall(TestViewer());
  if (Case("energy")) PetscCall(TestEnergy());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: double
    test:
      suffix: host
      nsize: {{1 2}}
    test:
      suffix: cuda
      requires: baicuda
      args: -ksp_bai_backend cuda -ksp_bai_kernel generic

TEST*/
