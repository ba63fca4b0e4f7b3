#include "bench.h"
#include "now.h"

/* The time of the slowest process, so that all processes decide alike */
PetscErrorCode TimeOnce(Work prepare, Work work, void *ctx, PetscInt count, PetscReal *seconds)
{
  PetscLogDouble start, end;
  PetscReal      mine;

  PetscFunctionBeginUser;
  if (prepare) PetscCall(prepare(ctx, count));
  PetscCall(Now(&start));
  PetscCall(work(ctx, count));
  PetscCall(Now(&end));
  mine = (PetscReal)(end - start);
  PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* The median of timings, each of count repetitions. If the first, which took these seconds, took long, it is the only
 * one */
PetscErrorCode Repeat(const Bench *bench, Work prepare, Work work, void *ctx, PetscInt count, PetscReal first,
                      Figure *figure)
{
  const PetscInt samples = first * (bench->samples + 1) < bench->seconds ? bench->samples
                                                                         : (PetscInt)(bench->seconds / first) - 1;
  PetscReal     *sample;

  PetscFunctionBeginUser;
  figure->median  = first / count;
  figure->spread  = 0;
  figure->samples = PetscMax(1, samples);
  if (samples < 1) PetscFunctionReturn(0);
  PetscCall(PetscMalloc1(samples, &sample));
  for (PetscInt s = 0; s < samples; s++) PetscCall(TimeOnce(prepare, work, ctx, count, &sample[s]));
  PetscCall(PetscSortReal(samples, sample));
  figure->median = sample[samples / 2] / count;
  figure->spread = (sample[3 * samples / 4] - sample[samples / 4]) / (2 * count);
  PetscCall(PetscFree(sample));
  PetscFunctionReturn(0);
}

PetscErrorCode Measure(const Bench *bench, Work prepare, Work work, void *ctx, PetscInt count, Figure *figure)
{
  PetscReal first;

  PetscFunctionBeginUser;
  PetscCall(TimeOnce(prepare, work, ctx, count, &first));
  PetscCall(Repeat(bench, prepare, work, ctx, count, first, figure));
  PetscFunctionReturn(0);
}

static PetscErrorCode Copy(void *ctx, PetscInt count)
{
  Vec *v = (Vec *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(VecCopy(v[0], v[1]));
  PetscFunctionReturn(0);
}

/* The bandwidth that all others are compared with: of vectors much longer than any cache */
PetscErrorCode MeasureCopy(Bench *bench, VecType type)
{
  const PetscInt n = bench->copy_mb * (1000000 / (2 * (PetscInt)sizeof(PetscScalar)));
  Figure         copy;
  Vec            v[2];

  PetscFunctionBeginUser;
  PetscCall(Progress(bench, "copy"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &v[k]));
    PetscCall(VecSetSizes(v[k], PETSC_DECIDE, n));
    PetscCall(VecSetType(v[k], type));
    PetscCall(VecSet(v[k], 1));
  }
  PetscCall(Measure(bench, NULL, Copy, v, 5, &copy));
  bench->bandwidth = 2 * sizeof(PetscScalar) * (PetscReal)n / copy.median;
  PetscCall(Print("VecCopy() of %" PetscInt_FMT " MB: %.1f GB/s\n", bench->copy_mb, 1e-9 * (double)bench->bandwidth));
  PetscCall(ReportCopy(bench, n, &copy));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&v[k]));
  PetscFunctionReturn(0);
}
