static char help[] = "Levels that are kept for new values take hardly more iterations than new ones, and values that "
                     "they fit are put into them.\n\n";

#include "check.h"
#include "dice.h"

/* Points of the grid in each direction, each coupled to its four neighbours, and unknowns of a point to each other */
static PetscInt N = 60;

enum {
  STEPS = 10 /* at most */
};

/* How the same couplings are given to a solver */
typedef enum {
  NATURAL,  /* in natural ordering: aggregates are boxes */
  SHUFFLED, /* at random: they are found by matching */
  FIELDS,   /* the same with two unknowns of a point */
  MODES,    /* and with the constants on each of these as the near null space */
  SYSTEMS
} System;

static const char *const systems[SYSTEMS] = {"natural", "shuffled", "fields", "modes"};

typedef struct {
  PetscReal x, y;   /* couplings in each direction, */
  PetscReal part_x; /* and, if this is not 0, in a part of the grid, */
  PetscReal part_y;
  PetscReal more;    /* what is added to the diagonal, */
  PetscReal wind[2]; /* what comes to the couplings to the left and below, and is not symmetric, */
  PetscReal noise;   /* by which power of e couplings differ at most, */
  PetscReal factor;  /* and what all of it is multiplied by */
  PetscReal one;     /* in the place of one coupling, if it is not 0 */
  PetscBool pinned;  /* every seventh point is coupled to no other */
} Values;

typedef struct {
  const char *name;
  int         steps;
  void (*at)(int step, Values *);
  PetscInt  setups[SYSTEMS]; /* of a solver for all of them on one rank, 0: this system is not tried */
  PetscBool same;            /* boxes are the same for all of them, and the same number is expected on several ranks */
} Sequence;

static void TimeStepGrows(int step, Values *v)
{
  v->more = PetscPowReal(10, (PetscReal)(4 - step));
}

static void TimeStepShrinks(int step, Values *v)
{
  v->more = PetscPowReal(10, (PetscReal)(step - 5));
}

static void InfiniteAtFirst(int step, Values *v)
{
  if (!step) v->one = (PetscReal)INFINITY;
}

static void NaNLater(int step, Values *v)
{
  if (step == 1) v->one = (PetscReal)NAN;
}

static void DirectionTurns(int step, Values *v)
{
  if (step < 3) v->y = (PetscReal)1e-3;
  else v->x = (PetscReal)1e-3;
}

static void DirectionComes(int step, Values *v)
{
  v->y = PetscPowReal(2, (PetscReal)-step);
}

static void DirectionGoes(int step, Values *v)
{
  v->y = PetscPowReal(2, (PetscReal)(step - 7));
}

static void PartTurns(int step, Values *v)
{
  v->y = (PetscReal)1e-2;
  if (!step) return;
  v->part_x = (PetscReal)1e-2;
  v->part_y = 1;
}

static void PinsGo(int step, Values *v)
{
  v->pinned = (PetscBool)!step;
}

static void WindTurns(int step, Values *v)
{
  v->wind[step > 1] = 100;
}

static void SameButForAFactor(int step, Values *v)
{
  v->factor = PetscPowReal(10, (PetscReal)(3 * step));
}

static void HardlyOther(int step, Values *v)
{
  v->noise = (PetscReal)0.2 * (PetscReal)step;
}

static const Sequence sequences[] = {
  {"time_step_grows",   10, TimeStepGrows,     {1, 2, 2, 2}, PETSC_FALSE},
  {"time_step_shrinks", 10, TimeStepShrinks,   {1, 1, 1, 1}, PETSC_FALSE},
  {"infinite_at_first", 4,  InfiniteAtFirst,   {2, 2, 2, 2}, PETSC_FALSE},
  {"nan_later",         4,  NaNLater,          {2, 2, 2, 2}, PETSC_FALSE},
  {"direction_turns",   6,  DirectionTurns,    {2, 2, 2, 2}, PETSC_FALSE},
  {"direction_comes",   8,  DirectionComes,    {4, 5, 5, 6}, PETSC_FALSE},
  {"direction_goes",    8,  DirectionGoes,     {4, 4, 4, 3}, PETSC_FALSE},
  {"part_turns",        3,  PartTurns,         {2, 2, 2, 2}, PETSC_FALSE},
  {"pins_go",           3,  PinsGo,            {2, 2, 2, 2}, PETSC_FALSE},
  {"wind_turns",        4,  WindTurns,         {2, 2, 2, 0}, PETSC_FALSE},
  {"same_but_factor",   4,  SameButForAFactor, {1, 1, 1, 1}, PETSC_TRUE },
  {"hardly_other",      3,  HardlyOther,       {1, 1, 1, 1}, PETSC_TRUE }
};

static PetscBool InPart(PetscInt i, PetscInt j)
{
  return (PetscBool)(i >= N / 2 && i < N / 2 + N / 10 && j >= N / 2 && j < N / 2 + N / 10);
}

static PetscBool IsPinned(const Values *v, PetscInt point)
{
  return (PetscBool)(v->pinned && point % 7 == 3);
}

/* Of two points that are neighbours in direction d; point: the lower one */
static PetscReal Coupling(const Values *v, PetscInt i, PetscInt j, int d, PetscInt point)
{
  Dice            dice = RowDice(1, d, point);
  const PetscBool part = (PetscBool)(v->part_x > 0 && InPart(i, j));
  const PetscReal w    = d ? (part ? v->part_y : v->y) : part ? v->part_x : v->x;

  return w * PetscExpReal(v->noise * Between(&dice, -1, 1));
}

/* Of N x N points the one that has this number in a shuffled order, or that number */
static PetscInt Shuffled(System system, PetscInt point)
{
  return system == NATURAL ? point : (PetscInt)((int64_t)point * 1597 % (N * N)); /* have no common factor */
}

/* The rows of a point */
static PetscErrorCode SetPoint(Mat A, System system, const Values *v, PetscInt i, PetscInt j)
{
  const PetscInt point = j * N + i, fields = system == FIELDS || system == MODES ? 2 : 1;
  PetscReal      sum = v->more;

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) {
    const int       d = k / 2, up = k % 2;
    const PetscInt  other_i = i + (d ? 0 : up ? 1 : -1), other_j = j + (d ? up ? 1 : -1 : 0);
    const PetscBool inside = (PetscBool)(other_i >= 0 && other_j >= 0 && other_i < N && other_j < N);
    const PetscInt  other  = other_j * N + other_i;
    PetscReal       w      = up || !inside ? Coupling(v, i, j, d, point) : Coupling(v, other_i, other_j, d, other);

    if (!up) w += v->wind[d];
    sum += w;
    if (IsPinned(v, point) || (inside && IsPinned(v, other))) w = 0;
    if (v->one != 0 && point == 3 && k == 1) w = -v->one; /* compares unequal to 0 if it is no number */
    for (PetscInt f = 0; f < fields && inside; f++)
      PetscCall(MatSetValue(A, Shuffled(system, point) * fields + f, Shuffled(system, other) * fields + f,
                            -w * v->factor, INSERT_VALUES));
  }
  for (PetscInt f = 0; f < fields; f++) {
    for (PetscInt g = 0; g < fields; g++)
      PetscCall(MatSetValue(A, Shuffled(system, point) * fields + f, Shuffled(system, point) * fields + g,
                            (f == g ? sum : (PetscReal)0.01 * v->more) * v->factor, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(Mat A, System system, const Sequence *s, int step)
{
  Values      v = {.x = 1, .y = 1, .factor = 1};
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  s->at(step, &v);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt j = 0; j < N && !rank; j++)
    for (PetscInt i = 0; i < N; i++) PetscCall(SetPoint(A, system, &v, i, j));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(System system, Mat *A)
{
  const PetscInt fields = system == FIELDS || system == MODES ? 2 : 1, all = N * N * fields;
  MatNullSpace   near;
  Vec            mode[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, all, all));
  PetscCall(MatSetBlockSize(*A, fields));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 6, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 6, NULL, 6, NULL));
  if (system != MODES) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt f = 0; f < 2; f++) {
    PetscCall(MatCreateVecs(*A, &mode[f], NULL));
    PetscCall(VecSet(mode[f], 0));
    PetscCall(VecSetBlockSize(mode[f], 2));
    PetscCall(VecStrideSet(mode[f], f, PetscSqrtReal((PetscReal)1 / (N * N))));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 2, mode, &near));
  PetscCall(MatSetNearNullSpace(*A, near));
  PetscCall(MatNullSpaceDestroy(&near));
  for (PetscInt f = 0; f < 2; f++) PetscCall(VecDestroy(&mode[f]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBAI with levels, or another method with PCBAIMG */
static PetscErrorCode CreateKSP(Mat A, KSPType type, KSP *ksp)
{
  PC        pc;
  PetscBool is_bai;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(NewKSP(A, type, ksp));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(KSPSetFromOptions(*ksp));
  if (is_bai) PetscCall(PCBAIMGSetLevels(pc, 32)); /* else the matrix may stay on the chip of a GPU */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscInt *its, KSPConvergedReason *reason)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that has seen all values before, and a new one for each of them */
static PetscErrorCode Test(System system, const Sequence *s, KSPType type)
{
  KSP                ksp, fresh;
  PC                 pc;
  Mat                A;
  Vec                b, x, other;
  PetscInt           its, least;
  KSPConvergedReason reason, expected;
  PetscMPIInt        size;
  PetscBool          is_bai, equal;
  PetscReal          setups, updates;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateMat(system, &A));
  PetscCall(SetValues(A, system, s, 0));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &other));
  PetscCall(VecSet(b, 1));
  PetscCall(CreateKSP(A, type, &ksp));
  for (int step = 0; step < s->steps; step++) {
    if (step) PetscCall(SetValues(A, system, s, step));
    PetscCall(Solve(ksp, b, x, &its, &reason));
    PetscCall(CreateKSP(A, type, &fresh));
    PetscCall(Solve(fresh, b, other, &least, &expected));
    PetscCall(Expect(reason == expected && (reason < 0 || 10 * its <= 13 * least || its <= least + 1),
                     "values number %d: %s after %d iterations, a new solver %s after %d", step,
                     KSPConvergedReasons[reason], (int)its, KSPConvergedReasons[expected], (int)least));
    PetscCall(VecEqual(x, other, &equal));
    PetscCall(
      Expect(equal || !s->same || system != NATURAL, "values number %d: not the solution of a new solver", step));
    PetscCall(KSPDestroy(&fresh));
  }
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewedNumber(is_bai ? (PetscObject)ksp : (PetscObject)pc, "set-ups ", &setups));
  PetscCall(ViewedNumber(is_bai ? (PetscObject)ksp : (PetscObject)pc, "value updates ", &updates));
  if (size == 1 || s->same)
    PetscCall(Expect((PetscInt)setups == s->setups[system] && (PetscInt)(setups + updates) == s->steps,
                     "levels were made %d times and kept %d times, %d of %d were expected", (int)setups, (int)updates,
                     (int)s->setups[system], s->steps));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&other));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The unit of a row: some points have another one */
static PetscReal UnitOf(PetscInt row, PetscReal other)
{
  return row / 2 * 7 % 5 < 2 ? other : 1;
}

/* Sets the values of two fields: A = L + more I for each, with couplings c and -c to the other field of the point; and
   all in units of which some are another one */
static PetscErrorCode SetFields(Mat A, PetscReal c, PetscReal more, PetscReal other)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt  field = row % 2, i = row / 2 % N, j = row / 2 / N;
    const PetscReal unit = UnitOf(row, other);

    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt x = i + (k == 0) - (k == 1), y = j + (k == 2) - (k == 3), col = 2 * (y * N + x) + field;

      if (x >= 0 && x < N && y >= 0 && y < N)
        PetscCall(MatSetValue(A, row, col, -unit * UnitOf(col, other), INSERT_VALUES));
    }
    PetscCall(MatSetValue(A, row, row, (4 + more) * unit * unit, INSERT_VALUES));
    PetscCall(MatSetValue(A, row, row + 1 - 2 * field, (field ? c : -c) * unit * unit, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values of one matrix for which a new PC decides otherwise: about constants on fields if skew couplings of two
   fields grow, and about the units of PCBAI if these change */
static PetscErrorCode TestDecisions(KSPType type, PCType pc_type, PetscBool units)
{
  const PetscReal    skew[] = {(PetscReal)0.01, 3, 7, (PetscReal)0.01}, unit[] = {1, 100, 1, 1000};
  KSP                ksp[2];
  PC                 pc;
  Mat                A;
  Vec                b, x;
  PetscInt           its[2];
  KSPConvergedReason reason[2];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(FIELDS, &A));
  for (int step = 0; step < 4; step++) {
    PetscCall(SetFields(A, units ? 0 : skew[step], units ? 1 : 0, units ? unit[step] : 1));
    if (!step) PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    for (int fresh = step ? 1 : 0; fresh >= 0; fresh--) {
      if (fresh || !step) {
        PetscCall(NewKSP(A, type, &ksp[fresh]));
        PetscCall(KSPSetTolerances(ksp[fresh], (PetscReal)1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
        PetscCall(KSPGetPC(ksp[fresh], &pc));
        PetscCall(PCSetType(pc, pc_type));
        PetscCall(KSPSetFromOptions(ksp[fresh]));
      }
      PetscCall(Solve(ksp[fresh], b, x, &its[fresh], &reason[fresh]));
    }
    if (!step) continue;
    PetscCall(Expect(reason[0] > 0 && reason[1] > 0 && its[0] <= 2 + 13 * its[1] / 10,
                     "values number %d: %s after %d iterations, a new solver %s after %d", step,
                     KSPConvergedReasons[reason[0]], (int)its[0], KSPConvergedReasons[reason[1]], (int)its[1]));
    PetscCall(KSPDestroy(&ksp[1]));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &N, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sequences); k++) {
    const KSPType other = sequences[k].at == WindTurns ? KSPGMRES : KSPCG;

    for (int system = 0; system < SYSTEMS; system++) {
      if (!sequences[k].setups[system]) continue;
      if (Case("%s_%s_%s", sequences[k].name, systems[system], other))
        PetscCall(Test((System)system, &sequences[k], other));
      if (Case("%s_%s_bai", sequences[k].name, systems[system])) PetscCall(Test((System)system, &sequences[k], KSPBAI));
    }
  }
  if (Case("skew_bai")) PetscCall(TestDecisions(KSPBAI, PCBAIMG, PETSC_FALSE));
  if (Case("skew_gmres")) PetscCall(TestDecisions(KSPGMRES, PCBAIMG, PETSC_FALSE));
  if (Case("units_cg")) PetscCall(TestDecisions(KSPCG, PCBAI, PETSC_TRUE));
  if (Case("units_bai")) PetscCall(TestDecisions(KSPBAI, PCBAI, PETSC_TRUE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      timeoutfactor: 5
      test:
         suffix: host
         args: -case {{time_step direction_comes,direction_goes direction_turns,part_turns,pins_go,wind_turns \
               infinite,nan,same,hardly,skew,units}}
      test:
         suffix: host_ranks
         nsize: 2
         args: -case direction_turns_natural,direction_turns_modes,infinite_at_first_natural,skew,units
      test:
         suffix: host_distributed
         nsize: {{2 3}}
         args: -n 100 -case {{same hardly_other_natural,hardly_other_shuffled,hardly_other_modes \
               direction_turns_shuffled,direction_turns_modes,wind_turns_natural}}
      # so many rows that two levels are distributed
      test:
         suffix: host_distributed_twice
         nsize: 2
         args: -n 150 -case same_*natural_bai,hardly_other_natural
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -case *_bai
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_single false
      test:
         suffix: aijcusparse_distributed
         requires: baicuda cuda
         nsize: {{2 3}}
         # few cases, as ranks that share a GPU take turns of milliseconds
         args: -mat_type aijcusparse -pc_baimg_gather false -pc_baimg_single false -n 100
         args: -case same_*natural_bai,hardly_other*shuffled_cg,direction_turns_modes_cg

TEST*/
