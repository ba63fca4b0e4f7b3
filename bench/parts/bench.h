/* Shared by the parts of the benchmark: options, a clock that repeats, a table, and the work that is timed */
#pragma once

#include <petscbai.h>

enum {
  MAX_RTOL    = 24,
  MAX_THREADS = 16,
  MAX_WITHOUT = 16
};

typedef struct {
  PetscInt    samples, max_it, copy_mb;
  PetscReal   seconds; /* that a figure may take */
  PetscInt    nrtol;   /* in descending order */
  PetscReal   rtol[MAX_RTOL];
  PetscBool   shown[MAX_RTOL]; /* in the table; others are for the history only */
  PetscInt    nthreads, threads[MAX_THREADS];
  PetscInt    nwithout;
  char       *without[MAX_WITHOUT];
  FILE       *csv, *history;                     /* NULL if not asked for */
  char        device[128], commit[64], date[16]; /* of the run */
  PetscReal   bandwidth;                         /* of a copy, bytes per second */
  const char *matrix;                            /* the present one */
  PetscInt    n;
  PetscReal   nnz, product; /* product: seconds of its MatMult() */
} Bench;

typedef struct {
  Mat A;
  Vec b, x;
  KSP ksp;
} System;

/* Median seconds, and half the distance between the quartiles */
typedef struct {
  PetscReal median, spread;
  PetscInt  samples;
} Figure;

/* Work that is timed, once or count times over */
typedef PetscErrorCode (*Work)(void *ctx, PetscInt count);

/* measure.c */
PetscErrorCode TimeOnce(Work prepare, Work work, void *ctx, PetscInt count, PetscReal *seconds);
PetscErrorCode Repeat(const Bench *, Work prepare, Work work, void *ctx, PetscInt count, PetscReal first, Figure *);
PetscErrorCode Measure(const Bench *, Work prepare, Work work, void *ctx, PetscInt count, Figure *);
PetscErrorCode MeasureCopy(Bench *, VecType);

/* report.c */
PetscErrorCode Progress(const Bench *, const char what[]);
PetscErrorCode ProgressEnd(void);
PetscErrorCode Print(const char format[], ...);
PetscErrorCode Report(const Bench *, const char what[], const Figure *, const char over[], PetscReal reference,
                      PetscReal bytes);
PetscErrorCode ReportCopy(const Bench *, PetscInt n, const Figure *);
PetscErrorCode ReportRow(const Bench *, const char what[], PetscReal rtol, const Figure *, const char over[],
                         PetscReal reference, PetscReal bytes, PetscReal its, PetscReal residual, const char reason[]);
PetscErrorCode ReportHistory(const Bench *, const char solver[], PetscReal rtol, const Figure *, const Figure *setup,
                             PetscReal its, PetscReal residual);
PetscErrorCode ReportOpen(Bench *, const char csv[], const char history[]);
PetscErrorCode ReportClose(Bench *);
/* Of small benchmarks: the options -device, -commit and -csv, and the file of the latter with its header; NULL: none */
PetscErrorCode ReportOptions(const char header[], char device[128], char commit[64], FILE **csv);

/* matrices.c: of the options -matrix and -n, and -f; the name is of the gallery or of the file */
PetscErrorCode ForMatrices(PetscErrorCode (*)(void *ctx, const char name[], Mat), void *ctx);

/* iterations.c */
PetscErrorCode SetThreads(PetscInt);
PetscErrorCode BenchIterations(Bench *, System *);

/* solves.c */
PetscErrorCode CheckSolverNames(const Bench *);
PetscErrorCode BenchSolves(const Bench *, System *);
