#include "bench.h"
#include <petsctime.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static PetscBool line = PETSC_FALSE; /* there is a line of progress on the terminal */

/* Progress: to a terminal each time, otherwise every ten seconds */
PetscErrorCode Progress(const Bench *bench, const char what[])
{
  static PetscLogDouble last = 0;
  PetscLogDouble        now;
  PetscMPIInt           rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) PetscFunctionReturn(0);
  PetscCall(PetscTime(&now));
  if (isatty(STDERR_FILENO)) {
    (void)fprintf(stderr, "\r\033[K%s: %s ", bench->matrix, what);
    line = PETSC_TRUE;
  } else if (now - last > 10) {
    if (last > 0) (void)fprintf(stderr, "%s: %s\n", bench->matrix, what);
    last = now;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ProgressEnd(void)
{
  PetscFunctionBeginUser;
  if (line) (void)fprintf(stderr, "\r\033[K");
  line = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* To the screen */
PetscErrorCode Print(const char format[], ...)
{
  PetscMPIInt rank;
  va_list     args;

  PetscFunctionBeginUser;
  PetscCall(ProgressEnd());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) PetscFunctionReturn(0);
  va_start(args, format);
  PetscCall(PetscVFPrintf(PETSC_STDOUT, format, args));
  va_end(args);
  (void)fflush(PETSC_STDOUT);
  PetscFunctionReturn(0);
}

/* The columns that all rows of a run have alike, so that files of several runs can be put together */
static PetscErrorCode ReportRun(const Bench *bench)
{
  PetscInt    major, minor, subminor, release;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv,
                         ",\"%s\",%s,%s,%" PetscInt_FMT ".%" PetscInt_FMT ".%" PetscInt_FMT ",%d,%" PetscInt_FMT "\n",
                         bench->device, bench->commit, bench->date, major, minor, subminor, size,
                         bench->threads[bench->nthreads - 1]));
  PetscFunctionReturn(0);
}

/* The copy whose bandwidth the others are compared with, of vectors of n entries */
PetscErrorCode ReportCopy(const Bench *bench, PetscInt n, const Figure *figure)
{
  PetscFunctionBeginUser;
  if (!bench->csv) PetscFunctionReturn(0);
  PetscCall(
    PetscFPrintf(PETSC_COMM_WORLD, bench->csv, ",%" PetscInt_FMT ",,VecCopy,,%.6g,%.3g,%" PetscInt_FMT ",,,%.5g,,,", n,
                 (double)figure->median, (double)figure->spread, figure->samples, 1e-9 * (double)bench->bandwidth));
  PetscCall(ReportRun(bench));
  PetscFunctionReturn(0);
}

/* A row of the CSV file; values of 0, and those after negative its, are left empty */
PetscErrorCode ReportRow(const Bench *bench, const char what[], PetscReal rtol, const Figure *figure, const char over[],
                         PetscReal reference, PetscReal bytes, PetscReal its, PetscReal residual, const char reason[])
{
  PetscFunctionBeginUser;
  if (!bench->csv) PetscFunctionReturn(0);
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, "%s,%" PetscInt_FMT ",%.0f,%s,", bench->matrix, bench->n,
                         (double)bench->nnz, what));
  if (rtol > 0) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, "%g", (double)rtol));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, ",%.6g,%.3g,%" PetscInt_FMT ",", (double)figure->median,
                         (double)figure->spread, figure->samples));
  if (reference > 0)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, "%.5g", (double)(figure->median / reference)));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, ",%s,", over));
  if (bytes > 0) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, "%.4g", 1e-9 * (double)(bytes / figure->median)));
  if (its >= 0)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, ",%.6g,%.3e,%s", (double)its, (double)residual, reason));
  else PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, ",,,"));
  PetscCall(ReportRun(bench));
  PetscFunctionReturn(0);
}

/* A line of the table, and the rate at which these bytes were moved; 0: none is printed */
PetscErrorCode Report(const Bench *bench, const char what[], const Figure *figure, const char over[],
                      PetscReal reference, PetscReal bytes)
{
  const PetscReal rate = bytes / figure->median;

  PetscFunctionBeginUser;
  PetscCall(Print("  %-28s %11.2f us +- %4.1f %% %9.3f", what, 1e6 * (double)figure->median,
                  100 * (double)(figure->spread / figure->median), (double)(figure->median / reference)));
  if (bytes > 0)
    PetscCall(Print("  %7.1f GB/s, %.2f of a copy's", 1e-9 * (double)rate, (double)(rate / bench->bandwidth)));
  PetscCall(Print("\n"));
  PetscCall(ReportRow(bench, what, 0, figure, over, reference, bytes, -1, 0, ""));
  PetscFunctionReturn(0);
}

PetscErrorCode ReportHistory(const Bench *bench, const char solver[], PetscReal rtol, const Figure *figure,
                             const Figure *setup, PetscReal its, PetscReal residual)
{
  PetscFunctionBeginUser;
  if (!bench->history) PetscFunctionReturn(0);
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->history, "%s,%" PetscInt_FMT ",%s,%g,%.6g,%.6g,%.6g,%.4e\n",
                         bench->matrix, bench->n, solver, (double)rtol, (double)its, (double)setup->median,
                         (double)figure->median, (double)residual));
  PetscFunctionReturn(0);
}

PetscErrorCode ReportOpen(Bench *bench, const char csv[], const char history[])
{
  PetscFunctionBeginUser;
  if (csv[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, csv, "w", &bench->csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv,
                           "matrix,n,nnz,what,rtol,seconds,spread,samples,ratio,over,GB/"
                           "s,iterations,residual,reason,device,commit,date,petsc,processes,threads\n"));
  }
  if (history[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, history, "w", &bench->history));
    PetscCall(
      PetscFPrintf(PETSC_COMM_WORLD, bench->history, "matrix,n,solver,rtol,iterations,set-up,seconds,residual\n"));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ReportClose(Bench *bench)
{
  PetscFunctionBeginUser;
  PetscCall(ProgressEnd());
  if (bench->csv) PetscCall(PetscFClose(PETSC_COMM_WORLD, bench->csv));
  if (bench->history) PetscCall(PetscFClose(PETSC_COMM_WORLD, bench->history));
  PetscFunctionReturn(0);
}

PetscErrorCode ReportOptions(const char header[], char device[128], char commit[64], FILE **csv)
{
  char file[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", device, 128, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", commit, 64, NULL));
  PetscCheck(!strpbrk(device, ",\"\n") && !strpbrk(commit, ",\"\n"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-device %s, -commit %s: no quotes, commas or new lines", device, commit);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), NULL));
  *csv = NULL;
  if (!file[0]) PetscFunctionReturn(0);
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", csv));
  PetscCheck(!*csv || !setvbuf(*csv, NULL, _IOLBF, 0), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "setvbuf() failed"); /* a run that is cut short leaves its rows */
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, *csv, "%s\n", header));
  PetscFunctionReturn(0);
}
