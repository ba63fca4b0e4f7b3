static char help[] =
  "Random systems and options, drawn from a seed: claims of convergence are true; modes sync and color give the\n\
same bits again, with other numbers of threads as well; PCBAI is linear where it is fixed; on a GPU it is what it is\n\
on the host; nothing hangs. The same of KSPBAI and PCBAIMG with levels.\n\
  -first SEED -count SYSTEMS : the systems of these seeds, a case each (1, 50)\n\
  -seconds T                 : as many from the first on as T seconds allow, then says how many\n\
  -backend (auto|host|cuda)  : where they are solved\n\
  -levels                    : with levels: KSPBAI without options of the relaxation, and PCBAIMG\n\
  -patience T                : seconds that a system may take (60)\n\
  -tell                      : prints each system before it is solved\n\n";

#include "check.h"
#include "dice.h"
#include <petsctime.h>
#include <petsc/private/petscimpl.h>
#include <float.h>
#include <omp.h>
#include <signal.h>
#include <unistd.h>

/* What options.def says of an option that matters here; the faces are in the order KSP, PC */
typedef enum {
  IS_INT,
  IS_REAL,
  IS_FRACTION,
  IS_FLAG,
  IS_NAME
} Kind;

typedef struct {
  const char        *name;
  PetscBool          has[2], or_auto[2];
  Kind               kind;
  PetscInt           least, most;
  const char *const *names;
} Option;

#define BOTH(value)                                                  .has = {PETSC_TRUE, PETSC_TRUE}
#define KSP_PC(ksp, pc)                                              .has = {PETSC_TRUE, PETSC_TRUE}
#define KSP_ONLY(value)                                              .has = {PETSC_TRUE, PETSC_FALSE}
#define PC_ONLY(value)                                               .has = {PETSC_FALSE, PETSC_TRUE}
#define AT_LEAST(n, what)                                            .kind = IS_INT, .least = n, .most = PETSC_MAX_INT
#define BETWEEN(n, m)                                                .kind = IS_INT, .least = n, .most = m
#define POSITIVE_OR_0(what)                                          .kind = IS_REAL
#define POSITIVE_OR_AUTO(ksp, pc)                                    .kind = IS_REAL
#define FRACTION                                                     .kind = IS_FRACTION
#define AUTO                                                         PETSC_TRUE
#define NO_AUTO                                                      PETSC_FALSE
#define FLAG                                                         .kind = IS_FLAG
#define VIEWER                                                       .kind = IS_FLAG
#define NAMES(array)                                                 .kind = IS_NAME, .names = array
#define OPTION(field, Function, type, standard, method, range, says) {.name = #field, standard, range},
static const Option options[] = {
#include "options.def"
#include "../src/research/options.def"
};

/* Options that are drawn from less than what is allowed, so that a system takes a fraction of a second; with 0 they are
 * left as they are */
static const struct {
  const char *name;
  PetscInt    most;
} limits[] = {
  {"method",         0}, /* of others it is an error: -levels */
  {"krylov",         0},
  {"mode",           0}, /* the same for both faces */
  {"backend",        0}, /* of the command line */
  {"kernel",         0}, /* may refuse */
  {"fault_fraction", 0}, /* with faults solves may well fail */
  {"stats",          0}, /* are printed */
  {"local_iters",    9},
  {"overlap",        2},
  {"its",            4}
};

typedef enum {
  PATTERN_DIAGONAL,
  PATTERN_BAND,
  PATTERN_GRID,
  PATTERN_RANDOM,
  PATTERN_NEAR,
  PATTERN_LOWER,
  PATTERN_BLOCKS,
  PATTERN_ISLANDS,
  PATTERN_HUBS,
  PATTERN_ARROW,
  PATTERNS
} Pattern;
static const char *const patterns[] = {"diagonal", "band",   "grid",    "random", "near",
                                       "lower",    "blocks", "islands", "hubs",   "arrow"};

typedef enum {
  SPLIT_EVEN,
  SPLIT_ONE, /* one rank has all rows */
  SPLIT_ANY, /* some ranks may have none */
  SPLITS
} Split;

typedef enum {
  RHS_RANDOM,
  RHS_ONES,
  RHS_UNIT,
  RHS_ZERO,
  RHS_KINDS
} Rhs;

/* A system, its options, and how it is solved */
typedef struct {
  int         seed;
  PetscInt    n, degree, which; /* rows; couplings of a row, about; the row that has many, or the rank */
  Pattern     pattern;
  Split       split;
  Rhs         rhs;
  PetscBool   symmetric, signs, uneven, guess, norm_none, levels; /* levels: KSPBAI has them */
  PetscReal   dominance, spread, scale, rhs_scale, rtol, atol;
  PetscInt    max_it;
  BAIMode     mode;
  const char *backend;
  char        options[2][1024];
  Mat         A;
  Vec         b, x0;
  PetscInt    longest; /* entries of a row, at most */
} System;

/* Sweeps of a face, which are in the order KSP, PC, are in single precision */
static PetscBool IsRough(const System *s, int face)
{
  return (PetscBool)(strstr(s->options[face], "precision single") != NULL);
}

/* Natural numbers, small ones above all */
static PetscInt SmallInt(Dice *dice, PetscInt least, PetscInt most)
{
  const PetscInt spans[] = {2, 4, 12, 70, 600};
  const PetscInt span    = spans[Below(dice, 5)];

  return least + Below(dice, most < least + span ? most - least + 1 : span);
}

/* A word for the value of an option, drawn from its range */
static void DrawValue(Dice *dice, const Option *o, int face, PetscInt most, char word[], size_t length)
{
  PetscInt count = 0;

  switch (o->kind) {
  case IS_INT:
    (void)snprintf(word, length, "%" PetscInt_FMT, SmallInt(dice, o->least, most));
    break;
  case IS_REAL:
    (void)snprintf(word, length, "%.3f", (double)Between(dice, (PetscReal)0.3, (PetscReal)1.2));
    break;
  case IS_FRACTION:
    if (o->or_auto[face] && OneIn(dice, 2)) (void)snprintf(word, length, "auto");
    else (void)snprintf(word, length, "%.3f", OneIn(dice, 3) ? 0.0 : (double)Between(dice, 0, (PetscReal)0.9));
    break;
  case IS_FLAG:
    (void)snprintf(word, length, "%s", OneIn(dice, 2) ? "true" : "false");
    break;
  case IS_NAME:
    while (o->names[count + 3]) count++; /* after the words come the type, its prefix, and NULL */
    (void)snprintf(word, length, "%s", o->names[Below(dice, count + 1)]);
    break;
  }
}

static void AddOption(System *s, int face, const char name[], const char word[])
{
  const size_t used = strlen(s->options[face]);

  (void)snprintf(s->options[face] + used, sizeof(s->options[face]) - used, " -%s_bai_%s %s", face ? "pc" : "ksp", name,
                 word);
}

/* The mode, and every third of the other options */
static void DrawOptions(Dice *dice, System *s)
{
  s->mode = OneIn(dice, 2) ? (OneIn(dice, 2) ? BAI_MODE_SYNC : BAI_MODE_COLOR) : (BAIMode)Below(dice, 4);
  for (int face = 0; face < 2; face++) {
    s->options[face][0] = 0;
    AddOption(s, face, "backend", s->backend);
    AddOption(s, face, "mode",
              face && s->mode == BAI_MODE_COLOR && s->seed % 2 ? "auto"
                                                               : BAIModes[s->mode]); /* which is color or sync */
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
      const Option *o    = &options[k];
      PetscInt      most = o->kind == IS_INT ? o->most : 1;
      char          word[64];

      for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(limits); l++) {
        if (!strcmp(o->name, limits[l].name)) most = limits[l].most;
      }
      if (!o->has[face] || !most || !OneIn(dice, 3)) continue;
      if (!strcmp(o->name, "staleness") && s->mode != BAI_MODE_ASYNC) continue; /* an error */
      DrawValue(dice, o, face, most, word, sizeof(word));
      if (!strcmp(o->name, "partition") && !strcmp(word, "dm")) continue; /* there is no DM */
      if (!strcmp(o->name, "exchange") && (!strcmp(word, "dk") || !strcmp(word, "dc")))
        continue; /* an error where ranks share a GPU; auto takes dk where it can be */
      if (!strcmp(o->name, "polynomial") && !strcmp(word, "fourth"))
        continue; /* an error with most; auto takes it where it can be */
      if (face && !strcmp(o->name, "weight") && !strcmp(word, "safe")) continue; /* an error */
      if (!strcmp(word, "single") && (s->scale < 1e-30 || s->scale > 1e30))
        continue; /* entries are beyond its range: an error */
      AddOption(s, face, o->name, word);
    }
  }
}

/* All but the entries, which depend on the seed and their row only */
static void Draw(System *s, int seed, const char backend[])
{
  const int    digits = PetscDefined(USE_REAL_SINGLE) ? FLT_DIG : DBL_DIG;
  const double far    = 0.55 *
    (PetscDefined(USE_REAL_SINGLE) ? FLT_MAX_10_EXP : DBL_MAX_10_EXP); /* squares beyond that over- or underflow */
  const PetscReal dominant[] = {4, (PetscReal)1.5, (PetscReal)1.01, 1, (PetscReal)0.8, (PetscReal)0.2};
  Dice            dice       = RowDice(seed, 0, 0);
  double          e[2]       = {0, 0}; /* exponents of the scales of matrix and right-hand side */

  s->seed      = seed;
  s->backend   = backend;
  s->n         = OneIn(&dice, 4) ? Below(&dice, 9) : OneIn(&dice, 2) ? Below(&dice, 200) : Below(&dice, 3001);
  s->pattern   = (Pattern)Below(&dice, PATTERNS);
  s->degree    = 1 + Below(&dice, OneIn(&dice, 8) ? 40 : 9);
  s->which     = Below(&dice, 4096);
  s->split     = OneIn(&dice, 2) ? SPLIT_EVEN : (Split)Below(&dice, SPLITS);
  s->rhs       = OneIn(&dice, 2) ? RHS_RANDOM : (Rhs)Below(&dice, RHS_KINDS);
  s->symmetric = OneIn(&dice, 3);
  s->signs     = OneIn(&dice, 2);
  s->uneven    = OneIn(&dice, 5);
  s->guess     = OneIn(&dice, 4);
  s->norm_none = OneIn(&dice, 10);
  s->dominance = dominant[Below(&dice, PETSC_STATIC_ARRAY_LENGTH(dominant))];
  s->spread    = OneIn(&dice, 3) ? Between(&dice, 0, (PetscReal)digits / 3) : 0;
  if (OneIn(&dice, 6)) {
    e[Below(&dice, 2)] = OneIn(&dice, 2) ? far : -far;
    if (OneIn(&dice, 2)) e[0] = e[1] = e[0] + e[1];
  }
  s->scale     = (PetscReal)pow(10, e[0]);
  s->rhs_scale = (PetscReal)pow(10, e[1]);
  s->rtol      = PetscPowReal(10, -Between(&dice, (PetscReal)0.3, (PetscReal)(0.8 * digits)));
  s->atol      = OneIn(&dice, 4) ? s->rhs_scale * PetscPowReal(10, -Between(&dice, 0, (PetscReal)digits / 2)) : 0;
  s->max_it    = OneIn(&dice, 8) ? Below(&dice, 4) : 10 + Below(&dice, 400);
  DrawOptions(&dice, s);
  for (int face = 0; face < 2; face++) {
    if (strstr(s->options[face], "_overlap")) s->n %= 300; /* each block may be extended by all other rows */
  }
}

/* Columns of a row that are off its diagonal, perhaps some of them twice */
static PetscInt Columns(const System *s, PetscInt row, Dice *dice, PetscInt col[])
{
  const PetscInt n = s->n, line = PetscMax(1, (PetscInt)PetscSqrtReal((PetscReal)n)), first = row - row % s->degree;
  PetscInt       count = 0;

  if (n < 2) return 0;
  switch (s->pattern) {
  case PATTERN_BAND:
    for (PetscInt d = 1; d <= s->degree; d++) {
      if (row >= d) col[count++] = row - d;
      if (row + d < n) col[count++] = row + d;
    }
    break;
  case PATTERN_GRID:
    if (row % line) col[count++] = row - 1;
    if ((row + 1) % line && row + 1 < n) col[count++] = row + 1;
    if (row >= line) col[count++] = row - line;
    if (row + line < n) col[count++] = row + line;
    break;
  case PATTERN_RANDOM:
    while (count < s->degree) col[count++] = Below(dice, n);
    break;
  case PATTERN_NEAR:
    while (count < s->degree) col[count++] = (row + n + SmallInt(dice, 1, n) * (OneIn(dice, 2) ? 1 : -1)) % n;
    break;
  case PATTERN_LOWER:
    while (row && count < s->degree) col[count++] = Below(dice, row);
    break;
  case PATTERN_BLOCKS:
    for (PetscInt j = first; j < PetscMin(n, first + s->degree); j++) col[count++] = j;
    break;
  case PATTERN_ISLANDS:
    if (row % 3 == 1) col[count++] = row - 1;
    if (row % 3 == 0 && row + 1 < n) col[count++] = row + 1;
    break;
  case PATTERN_HUBS:
    while (count < s->degree) col[count++] = SmallInt(dice, 0, n - 1);
    break;
  case PATTERN_ARROW:
    if (row == s->which % n) {
      for (PetscInt j = 0; j < n; j++) col[count++] = j;
    } else col[count++] = s->which % n;
    break;
  default:
    break;
  }
  for (PetscInt k = 0; k < count;) {
    if (col[k] == row) col[k] = col[--count];
    else k++;
  }
  return count;
}

static PetscScalar Value(const System *s, Dice *dice)
{
  PetscReal size = Unit(dice);

  if (OneIn(dice, 20)) size = 0;
  if (s->uneven) size *= PetscPowReal(10, Between(dice, -3, 3));
#if defined(PETSC_USE_COMPLEX)
  if (s->signs) return size * PetscExpComplex(PETSC_i * Between(dice, 0, 2 * PETSC_PI));
#endif
  return s->signs && OneIn(dice, 2) ? size : -size;
}

/* Rows of a rank */
static PetscInt LocalRows(const System *s, PetscMPIInt rank, PetscMPIInt size)
{
  Dice     dice  = RowDice(s->seed, 1, 0);
  PetscInt begin = 0, end = 0;

  if (s->split == SPLIT_ONE) return rank == s->which % size ? s->n : 0;
  if (s->split == SPLIT_EVEN) return s->n / size + (rank < s->n % size);
  for (PetscMPIInt r = 0; r <= rank; r++) {
    begin = end;
    end   = r == size - 1 ? s->n : begin + Below(&dice, s->n - begin + 1);
  }
  return end - begin;
}

/* Positive numbers, 10 to the power of -spread ... spread, or all the same */
static PetscErrorCode Scales(const System *s, int which, PetscReal scale, Vec v)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(v, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    Dice dice = RowDice(s->seed, which, row);

    PetscCall(VecSetValue(v, row, scale * PetscPowReal(10, s->spread > 0 ? Between(&dice, -s->spread, s->spread) : 0),
                          INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonal entries are as large as the sum of the others in their row, times the dominance, before rows and columns are
 * scaled */
static PetscErrorCode CreateMatrix(System *s)
{
  PetscInt     begin, end, m, *i, *j, *col;
  PetscMPIInt  rank, ranks;
  PetscScalar *v;
  PetscCount   count = 0;
  Vec          diagonal, left, right;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  m = LocalRows(s, rank, ranks);
  PetscCallMPI(MPI_Scan(&m, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  begin = end - m;
  PetscCall(PetscMalloc1(s->n + 2 * s->degree + 4, &col));
  for (PetscInt row = begin; row < end; row++) {
    Dice dice = RowDice(s->seed, 2, row);

    count += 1 + Columns(s, row, &dice, col);
  }
  PetscCall(PetscMalloc3(count, &i, count, &j, count, &v));
  count = 0;
  for (PetscInt row = begin; row < end; row++) {
    Dice           dice = RowDice(s->seed, 2, row);
    const PetscInt cols = Columns(s, row, &dice, col);

    for (PetscInt k = 0; k <= cols; k++, count++) {
      i[count] = row;
      j[count] = k < cols ? col[k] : row;
      v[count] = k < cols ? Value(s, &dice) : 0;
    }
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &s->A));
  PetscCall(MatSetSizes(s->A, m, m, s->n, s->n));
  PetscCall(MatSetType(s->A, MATAIJ));
  PetscCall(MatSetPreallocationCOO(s->A, count, i, j));
  PetscCall(MatSetValuesCOO(s->A, v, INSERT_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(PetscFree(col));
  if (s->symmetric) {
    Mat T;

    PetscCall(MatTranspose(s->A, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(s->A, 1, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&T));
  }
  PetscCall(MatCreateVecs(s->A, &right, &left));
  PetscCall(VecDuplicate(left, &diagonal));
  s->longest = 0;
  for (PetscInt row = begin; row < end; row++) {
    const PetscScalar *value;
    PetscInt           length;
    PetscReal          sum  = 0;
    Dice               dice = RowDice(s->seed, 3, row);

    PetscCall(MatGetRow(s->A, row, &length, NULL, &value));
    for (PetscInt k = 0; k < length; k++) sum += PetscAbsScalar(value[k]);
    PetscCall(MatRestoreRow(s->A, row, &length, NULL, &value));
    s->longest = PetscMax(s->longest, length);
    sum        = sum > 0 ? s->dominance * sum : 1;
    PetscCall(VecSetValue(diagonal, row, s->signs && s->uneven && OneIn(&dice, 2) ? -sum : sum, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(diagonal));
  PetscCall(VecAssemblyEnd(diagonal));
  PetscCall(MatDiagonalSet(s->A, diagonal, INSERT_VALUES));
  PetscCall(Scales(s, 4, s->scale, left));
  PetscCall(Scales(s, s->symmetric ? 4 : 5, 1, right));
  PetscCall(MatDiagonalScale(s->A, left, right));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->longest, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscCall(MatSetFromOptions(s->A)); /* -mat_type converts it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRandom(const System *s, int which, Vec v)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(v, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    Dice dice = RowDice(s->seed, which, row);

    PetscCall(VecSetValue(v, row, Between(&dice, -1, 1), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSystem(System *s)
{
  PetscInt       begin, end;
  MatInfo        info;
  PetscLogDouble work; /* of a global iteration */

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(s));
  PetscCall(MatCreateVecs(s->A, &s->x0, &s->b));
  PetscCall(VecGetOwnershipRange(s->b, &begin, &end));
  PetscCall(VecSet(s->b, s->rhs == RHS_ONES ? 1 : 0));
  if (s->rhs == RHS_RANDOM) PetscCall(SetRandom(s, 6, s->b));
  if (s->rhs == RHS_UNIT && s->n) {
    const PetscInt row = s->which % s->n;

    if (row >= begin && row < end) PetscCall(VecSetValue(s->b, row, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(s->b));
    PetscCall(VecAssemblyEnd(s->b));
  }
  PetscCall(VecScale(s->b, s->rhs_scale));
  PetscCall(SetRandom(s, 7, s->x0));
  PetscCall(VecScale(s->x0, s->rhs_scale / s->scale));
  PetscCall(MatGetInfo(s->A, MAT_GLOBAL_SUM, &info));
  work      = 10 * info.nz_used + 1;
  s->max_it = PetscMin(s->max_it, 5 + (PetscInt)(1e7 / work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySystem(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&s->A));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||v||, also where squares over- or underflow */
static PetscErrorCode Norm(Vec v, PetscReal *norm)
{
  PetscReal largest;
  Vec       w;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  *norm = largest;
  if (largest == 0 || PetscIsInfOrNanReal(largest)) PetscFunctionReturn(PETSC_SUCCESS);
  largest = PetscMax(largest, 4 / PETSC_MAX_REAL); /* its inverse is finite */
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecCopy(v, w));
  PetscCall(VecScale(w, 1 / largest));
  PetscCall(PetscObjectStateIncrease((PetscObject)w)); /* as vectors keep their norms, and scale them */
  PetscCall(VecNorm(w, NORM_2, norm));
  *norm *= largest;
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding may do to ||b - A x||: so many units of || |A||x| + |b| || */
static PetscErrorCode Rounding(const System *s, Vec x, PetscReal *rounding)
{
  Mat       absolute, part[2] = {NULL, NULL};
  Vec       y, z;
  PetscBool mpi;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &absolute));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)absolute, MATMPIAIJ, &mpi));
  part[0] = absolute;
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(absolute, &part[0], &part[1], NULL));
  for (int k = 0; k < 2 && part[k]; k++) {
    MatInfo      info;
    PetscScalar *a;

    PetscCall(MatGetInfo(part[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(part[k], &a));
    for (PetscInt at = 0; at < (PetscInt)info.nz_used; at++) a[at] = PetscAbsScalar(a[at]);
    PetscCall(MatSeqAIJRestoreArray(part[k], &a));
  }
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(s->b, &z));
  PetscCall(VecCopy(x, y));
  PetscCall(VecAbs(y));
  PetscCall(MatMult(absolute, y, z));
  PetscCall(VecCopy(s->b, y));
  PetscCall(VecAbs(y));
  PetscCall(VecAXPY(z, 1, y));
  PetscCall(Norm(z, rounding));
  *rounding *= (PetscReal)(s->longest + 10) * PETSC_MACHINE_EPSILON;
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&absolute));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solve ended */
typedef struct {
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm;
} Outcome;

/* With the options of the system and more, and so many threads */
static PetscErrorCode Solve(const System *s, int threads, const char more[], Vec x, Outcome *outcome)
{
  PetscOptions o;
  KSP          ksp;

  PetscFunctionBeginUser;
  omp_set_num_threads(threads);
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, s->options[0]));
  PetscCall(PetscOptionsInsertString(o, more));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(PetscObjectSetOptions((PetscObject)ksp, o));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, s->A, s->A));
  PetscCall(KSPSetTolerances(ksp, s->rtol, s->atol, PETSC_DEFAULT, s->max_it));
  PetscCall(KSPSetInitialGuessNonzero(ksp, s->guess));
  if (s->norm_none) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecCopy(s->x0, x));
  PetscCall(KSPSolve(ksp, s->b, x));
  PetscCall(KSPGetConvergedReason(ksp, &outcome->reason));
  PetscCall(KSPGetIterationNumber(ksp, &outcome->its));
  PetscCall(KSPGetResidualNorm(ksp, &outcome->rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is claimed of x holds for the residual as PETSc computes it */
static PetscErrorCode IsTrue(const System *s, Vec x, const Outcome *o)
{
  Vec       r;
  PetscReal norm, bnorm, tolerance, rounding;

  PetscFunctionBeginUser;
  PetscCall(Expect(o->reason != KSP_CONVERGED_ITERATING, "a solve has a reason to end"));
  PetscCall(Expect(o->its >= 0 && o->its <= s->max_it, "%" PetscInt_FMT " iterations of at most %" PetscInt_FMT, o->its,
                   s->max_it));
  if (s->norm_none)
    PetscCall(Expect((o->reason == KSP_CONVERGED_ITS && o->its == s->max_it) ||
                       (s->levels && o->reason == KSP_DIVERGED_NANORINF), /* that of a Krylov method may overflow */
                     "without a norm all iterations are done, and %s: %" PetscInt_FMT, KSPConvergedReasons[o->reason],
                     o->its));
  if (s->norm_none || o->reason == KSP_DIVERGED_NANORINF) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &r));
  PetscCall(MatResidual(s->A, s->b, x, r));
  PetscCall(Norm(r, &norm));
  PetscCall(Norm(s->b, &bnorm));
  PetscCall(Rounding(s, x, &rounding));
  tolerance = PetscMax(s->rtol * bnorm, s->atol);
  if (bnorm == 0 && s->guess) { /* then PETSc takes the tolerance to be relative to the first residual */
    PetscReal first;

    PetscCall(MatResidual(s->A, s->b, s->x0, r));
    PetscCall(Norm(r, &first));
    tolerance = PetscMax(s->rtol * first, s->atol);
  }
  if (o->reason > 0) {
    const PetscBool right      = (PetscBool)(norm <= (1 + 100 * PETSC_MACHINE_EPSILON) * tolerance + rounding);
    PetscReal       by_entries = norm, again = norm, largest = norm;
    PetscMPIInt     ranks;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (!right && ranks == 1) PetscCall(ResidualNormByEntries(s->A, s->b, x, &by_entries));
    if (!right) PetscCall(VecNorm(r, NORM_INFINITY, &largest));
    if (!right) PetscCall(TrueResidualNorm(s->A, s->b, x, &again));
    PetscCall(Expect(right,
                     "%s after %" PetscInt_FMT " iterations, with a residual norm of %g, whose largest entry is %g, by "
                     "another product %g, entry by entry %g, for %g",
                     KSPConvergedReasons[o->reason], o->its, (double)norm, (double)largest, (double)again,
                     (double)by_entries, (double)tolerance));
  }
  if (o->reason == KSP_DIVERGED_ITS)
    PetscCall(Expect(o->its == s->max_it, "%s after %" PetscInt_FMT " of %" PetscInt_FMT " iterations",
                     KSPConvergedReasons[o->reason], o->its, s->max_it));
  if (!PetscIsInfOrNanReal(norm))
    PetscCall(Expect(PetscAbsReal(o->rnorm - norm) <= (PetscReal)1e-3 * norm + rounding,
                     "%s: the residual norm is that of x: %g, not %g", KSPConvergedReasons[o->reason], (double)o->rnorm,
                     (double)norm));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes that promise the same bits every time */
static PetscBool IsFixed(const System *s)
{
  return (PetscBool)(s->mode == BAI_MODE_SYNC || s->mode == BAI_MODE_COLOR);
}

static PetscErrorCode TestSolver(const System *s)
{
  const int threads[] = {2, 1, 3};
  Vec       x, first;
  Outcome   o, o1;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->x0, &x));
  PetscCall(VecDuplicate(s->x0, &first));
  PetscCall(Solve(s, threads[0], "", first, &o1));
  PetscCall(IsTrue(s, first, &o1));
  for (int k = 1; k < 3 && IsFixed(s); k++) {
    PetscBool equal;

    PetscCall(Solve(s, threads[k], "", x, &o));
    PetscCall(VecEqual(x, first, &equal));
    PetscCall(Expect(equal && o.its == o1.its && o.reason == o1.reason,
                     "KSPBAI with %d threads gives the bits of that with %d: %s after %" PetscInt_FMT
                     " iterations, and %s after %" PetscInt_FMT,
                     threads[k], threads[0], KSPConvergedReasons[o.reason], o.its, KSPConvergedReasons[o1.reason],
                     o1.its));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(const System *s, int threads, const char more[], PC *pc, PetscOptions *o)
{
  PetscFunctionBeginUser;
  omp_set_num_threads(threads);
  PetscCall(PetscOptionsCreate(o));
  PetscCall(PetscOptionsInsertString(*o, s->options[1]));
  PetscCall(PetscOptionsInsertString(*o, more));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PetscObjectSetOptions((PetscObject)*pc, *o));
  PetscCall(PCSetType(*pc, PCBAI));
  PetscCall(PCSetOperators(*pc, s->A, s->A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPC(PC *pc, PetscOptions *o)
{
  PetscFunctionBeginUser;
  PetscCall(PCDestroy(pc));
  PetscCall(PetscOptionsDestroy(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PCBAI refuses the omega of the options, as it would diverge; more: further options */
static PetscErrorCode Refuses(const System *s, const char more[], PetscBool *refuses)
{
  PetscErrorCode code;
  PetscOptions   o;
  PC             pc;
  Vec            x;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(CreatePC(s, 2, more, &pc, &o));
  CheckCall(code, PCApply(pc, s->b, x));
  PetscCall(Expect(!code || strstr(check_said, "smoothing diverges"), "PCApply() says %s", check_said));
  *refuses = (PetscBool)(code != 0);
  PetscCall(DestroyPC(&pc, &o));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M(x - 3 y) is Mx - 3 My, and Mx has the same bits again */
static PetscErrorCode TestPC(const System *s)
{
  const PetscReal epsilon = IsRough(s, 1) ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
  PetscOptions    o;
  PC              pc;
  Vec             x, y, Mx, My, sum, again;
  PetscReal       error, size[2];
  PetscBool       refuses = PETSC_FALSE;

  PetscFunctionBeginUser;
  if (!IsFixed(s)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Refuses(s, "", &refuses));
  if (refuses) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(VecDuplicate(s->b, &y));
  PetscCall(VecDuplicate(s->x0, &Mx));
  PetscCall(VecDuplicate(s->x0, &My));
  PetscCall(VecDuplicate(s->x0, &sum));
  PetscCall(VecDuplicate(s->x0, &again));
  PetscCall(SetRandom(s, 8, x));
  PetscCall(SetRandom(s, 9, y));
  PetscCall(VecScale(x, s->scale));
  PetscCall(VecScale(y, s->scale));
  PetscCall(CreatePC(s, 2, "", &pc, &o));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApply(pc, y, My));
  PetscCall(VecAXPY(x, -3, y));
  PetscCall(PCApply(pc, x, sum));
  PetscCall(VecAXPY(x, 3, y));
  PetscCall(DestroyPC(&pc, &o));
  for (int threads = 1; threads < 4; threads += 2) {
    PetscBool equal;

    PetscCall(SetRandom(s, 8, x));
    PetscCall(VecScale(x, s->scale));
    PetscCall(CreatePC(s, threads, "", &pc, &o));
    PetscCall(PCApply(pc, x, again));
    PetscCall(VecEqual(Mx, again, &equal));
    PetscCall(Expect(equal, "PCBAI with %d threads gives the bits of that with 2", threads));
    PetscCall(DestroyPC(&pc, &o));
  }
  PetscCall(VecAXPY(sum, -1, Mx));
  PetscCall(VecAXPY(sum, 3, My));
  PetscCall(VecNorm(sum, NORM_INFINITY, &error));
  PetscCall(VecNorm(Mx, NORM_INFINITY, &size[0]));
  PetscCall(VecNorm(My, NORM_INFINITY, &size[1]));
  if (!PetscIsInfOrNanReal(size[0]) && !PetscIsInfOrNanReal(size[1]) &&
      !(IsRough(s, 1) && PetscIsInfOrNanReal(error))) /* Mx - 3 My may overflow where Mx and My do not */
    PetscCall(Expect(error <= 1000 * epsilon * (size[0] + size[1]), "PCBAI is linear, to %g of %g", (double)error,
                     (double)size[0]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDestroy(&again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same blocks, with the parameters given, swept over on the host and on the device; what is chosen by the backend,
   or by norms, is left out, as are estimated eigenvalues, and mode color on several ranks, which take their turns
   together on the host
*/
static PetscErrorCode TestBackends(System *s)
{
  const BAIBackend backends[] = {BAI_BACKEND_HOST, BAI_BACKEND_CUDA};
  const PetscInt   max_it     = s->max_it;
  const PetscBool  norm_none  = s->norm_none;
  Vec              x[2];
  PetscReal        error, size, first;
  PetscMPIInt      ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  if (!IsFixed(s) || strcmp(s->backend, BAIBackends[BAI_BACKEND_CUDA])) PetscFunctionReturn(PETSC_SUCCESS);
  if (ranks > 1 && s->mode == BAI_MODE_COLOR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(s->x0, NORM_INFINITY, &first));
  for (int face = 0; face < 2; face++) {
    const char *const name    = face ? "pc" : "ksp";
    PetscBool         refuses = PETSC_FALSE;

    for (int k = 0; k < 2; k++) {
      char         more[256];
      PetscOptions o;
      PC           pc;
      Outcome      outcome;

      (void)snprintf(more, sizeof(more), "-%s_bai_backend %s -%s_bai_block_size %d -%s_bai_weight none", name,
                     BAIBackends[backends[k]], name, 1 + (int)s->which % 300, name);
      if (strstr(s->options[face], "partition auto") || !strstr(s->options[face], "partition"))
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " -%s_bai_partition natural", name);
      PetscCall(VecDuplicate(s->x0, &x[k]));
      if (face) {
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " -pc_bai_polynomial none");
        if (!refuses) PetscCall(Refuses(s, more, &refuses));
        if (refuses) continue;
        PetscCall(CreatePC(s, 2, more, &pc, &o));
        PetscCall(PCApply(pc, s->b, x[k]));
        PetscCall(DestroyPC(&pc, &o));
      } else {
        s->norm_none = PETSC_TRUE;
        s->max_it    = PetscMin(max_it, 6);
        PetscCall(Solve(s, 2, more, x[k], &outcome));
        s->max_it    = max_it;
        s->norm_none = norm_none;
      }
    }
    PetscCall(VecNorm(x[0], NORM_INFINITY, &size));
    if (!face) size = PetscMax(size, first); /* rounding is that of the guess, which may be larger than the result */
    PetscCall(VecAXPY(x[1], -1, x[0]));
    PetscCall(VecNorm(x[1], NORM_INFINITY, &error));
    if (!refuses && !PetscIsInfOrNanReal(size))
      PetscCall(
        Expect(error <= (IsRough(s, face) ? 100 * (PetscReal)FLT_EPSILON : 10000 * PETSC_MACHINE_EPSILON) * size,
               "%s on the device is that on the host, to %g of %g", face ? "PCBAI" : "KSPBAI", (double)error,
               (double)size));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAIMG, with options that are drawn, is linear, and symmetric if the matrix is, but for rounding */
static PetscErrorCode TestMultigrid(const System *s, const char levels[], Dice *dice)
{
  const PetscBool single  = (PetscBool)(s->spread == 0 && s->scale == 1 && !s->uneven && OneIn(dice, 4));
  const PetscReal epsilon = single ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
  char            text[256];
  PetscOptions    o;
  PC              pc;
  Vec             x, y, Mx, My, sum;
  PetscReal       error, size[2];
  PetscScalar     xMy, yMx;
  PetscBool       is;

  PetscFunctionBeginUser;
  (void)snprintf(text, sizeof(text),
                 "-pc_baimg_levels %s -pc_baimg_local_iters %d -pc_baimg_over %g -pc_baimg_single %s", levels,
                 1 + (int)Below(dice, 6), 1 + 0.1 * (double)Below(dice, 10), single ? "true" : "false");
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(VecDuplicate(s->b, &y));
  PetscCall(VecDuplicate(s->x0, &Mx));
  PetscCall(VecDuplicate(s->x0, &My));
  PetscCall(VecDuplicate(s->x0, &sum));
  PetscCall(SetRandom(s, 8, x));
  PetscCall(SetRandom(s, 9, y));
  PetscCall(VecScale(x, s->scale));
  PetscCall(VecScale(y, s->scale));
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, text));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, s->A, s->A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApply(pc, y, My));
  PetscCall(VecAXPY(x, -3, y));
  PetscCall(PCApply(pc, x, sum));
  PetscCall(VecAXPY(x, 3, y));
  PetscCall(VecAXPY(sum, -1, Mx));
  PetscCall(VecAXPY(sum, 3, My));
  PetscCall(VecNorm(sum, NORM_INFINITY, &error));
  PetscCall(VecNorm(Mx, NORM_INFINITY, &size[0]));
  PetscCall(VecNorm(My, NORM_INFINITY, &size[1]));
  is = (PetscBool) !(PetscIsInfOrNanReal(size[0]) || PetscIsInfOrNanReal(size[1]));
  if (s->dominance > 1) PetscCall(Expect(is, "PCBAIMG with %s is finite", text)); /* else the matrix may be singular */
  if (is &&
      s->dominance >= 1) /* else what a cycle computes may be far larger than what comes of it, and so is rounding */
    PetscCall(Expect(error <= 1000 * epsilon * (size[0] + size[1]), "PCBAIMG with %s is linear, to %g of %g", text,
                     (double)error, (double)size[0]));
  PetscCall(ViewHas((PetscObject)pc, "not for KSPCG", &is));
  if (!is && s->scale == 1 && s->spread == 0 && s->dominance >= 1 && s->n) {
    PetscCall(VecDot(My, x, &xMy));
    PetscCall(VecDot(y, Mx, &yMx));
    PetscCall(VecNorm(x, NORM_2, &size[0]));
    PetscCall(VecNorm(My, NORM_2, &size[1]));
    PetscCall(Expect(PetscAbsScalar(xMy - yMx) <= 1000 * epsilon * size[0] * size[1],
                     "PCBAIMG with %s is symmetric, to %g of %g", text, (double)PetscAbsScalar(xMy - yMx),
                     (double)PetscAbsScalar(xMy)));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG with PCBAIMG for A x = b from zero, in the natural norm */
static PetscErrorCode Iterations(const System *s, Mat A, Vec b, PetscInt *its)
{
  char         text[64];
  PetscOptions o;
  KSP          ksp;
  PC           pc;
  Vec          x;

  PetscFunctionBeginUser;
  (void)snprintf(text, sizeof(text), "-pc_baimg_backend %s", s->backend);
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, text));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A in units that are drawn for each row, S A S; with a zero that is stored in each row; or with its rows renumbered */
static PetscErrorCode Rewrite(const System *s, int how, Mat *A, Vec b)
{
  PetscInt begin, end;
  Dice     dice = RowDice(s->seed, 13, 0);

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(s->A, &begin, &end));
  if (how == 2) {
    PetscInt *index;
    IS        is;

    PetscCall(PetscMalloc1(s->n, &index));
    for (PetscInt i = 0; i < s->n; i++) { /* by R. Durstenfeld's shuffle */
      const PetscInt j = Below(&dice, i + 1);

      index[i] = index[j];
      index[j] = i;
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, end - begin, index + begin, PETSC_COPY_VALUES, &is));
    PetscCall(PetscFree(index));
    PetscCall(MatPermute(s->A, is, is, A));
    PetscCall(ISDestroy(&is));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, A));
  if (how == 0) {
    Vec S;

    PetscCall(VecDuplicate(b, &S));
    for (PetscInt i = begin; i < end; i++) {
      Dice of_row = RowDice(s->seed, 13, i);

      PetscCall(VecSetValue(S, i, PetscPowReal(10, Between(&of_row, -4, 4)), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(S));
    PetscCall(VecAssemblyEnd(S));
    PetscCall(MatDiagonalScale(*A, S, S));
    PetscCall(VecPointwiseMult(b, b, S));
    PetscCall(VecDestroy(&S));
  } else {
    const PetscInt far = s->n / 2;
    Mat            zeros;

    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, end - begin, end - begin, s->n, s->n, 1, NULL, 1, NULL, &zeros));
    for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(zeros, i, (i + far) % s->n, 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(zeros, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(zeros, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAXPY(*A, 1, zeros, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&zeros));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations for a nonsingular symmetric M-matrix hardly depend on how it is written down, except that dense blocks of
   consecutive rows may happen to be aggregates */
static PetscErrorCode TestWriting(const System *s)
{
  const char *const writings[] = {"S A S", "A with zeros", "A renumbered"};
  const int         how        = s->seed / 2 % 3;
  PetscInt          its[2];
  Mat               A;
  Vec               b;

  PetscFunctionBeginUser;
  if (!s->symmetric || s->signs || s->uneven || s->spread > 0 || s->scale != 1 || s->dominance <= 1 || s->n < 50)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (how == 2 && s->pattern == PATTERN_BLOCKS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &b));
  PetscCall(SetRandom(s, 12, b));
  PetscCall(Iterations(s, s->A, b, &its[0]));
  PetscCall(Rewrite(s, how, &A, b));
  PetscCall(Iterations(s, A, b, &its[1]));
  PetscCall(Expect(its[1] <= 1.3 * its[0] + 3, "CG with PCBAIMG takes %d iterations for %s, and %d for A", (int)its[1],
                   writings[how], (int)its[0]));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPBAI claims where it is a Krylov method round a multigrid cycle, which is also a PCBAIMG */
static PetscErrorCode TestLevels(System *s)
{
  Dice    dice = RowDice(s->seed, 10, 0);
  char    levels[16];
  Vec     x;
  Outcome o;

  PetscFunctionBeginUser;
  if (OneIn(&dice, 2)) (void)snprintf(levels, sizeof(levels), "auto");
  else (void)snprintf(levels, sizeof(levels), "%d", 1 + (int)Below(&dice, 8));
  (void)snprintf(s->options[0], sizeof(s->options[0]), " -ksp_bai_backend %s%s%s", s->backend,
                 strcmp(levels, "auto") ? " -ksp_bai_method krylov -pc_baimg_levels " : "",
                 strcmp(levels, "auto") ? levels : "");
  s->options[1][0] = 0;
  PetscCall(VecDuplicate(s->x0, &x));
  PetscCall(Solve(s, 2, "", x, &o));
  PetscCall(IsTrue(s, x, &o));
  PetscCall(VecDestroy(&x));
  PetscCall(TestMultigrid(s, levels, &dice));
  PetscCall(TestWriting(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody hears from a rank that waits in vain but by its signal */
static void Hangs(PETSC_UNUSED int signal_number)
{
  const char before[] = "Not so: ", after[] = ": it hangs\n";

  if (write(1, before, sizeof(before) - 1) < 0 || write(1, check.name, strlen(check.name)) < 0 ||
      write(1, after, sizeof(after) - 1) < 0)
    _exit(2);
  (void)signal(SIGABRT, SIG_DFL);
  abort();
}

static PetscErrorCode Tell(const System *s)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "  system: %" PetscInt_FMT " rows, %s of %" PetscInt_FMT
                        "%s, dominance %g, scales %g and %g, spread %g, rtol %g, atol %g, max_it %" PetscInt_FMT
                        "%s%s\n",
                        s->n, patterns[s->pattern], s->degree, s->symmetric ? ", symmetric" : "", (double)s->dominance,
                        (double)s->scale, (double)s->rhs_scale, (double)s->spread, (double)s->rtol, (double)s->atol,
                        s->max_it, s->guess ? ", a guess" : "", s->norm_none ? ", no norm" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  options:%s%s\n", s->options[0], s->options[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(int seed, const char backend[], PetscBool levels, PetscBool tell)
{
  System s;

  PetscFunctionBeginUser;
  Draw(&s, seed, backend);
  s.levels = levels;
  PetscCall(CreateSystem(&s));
  if (tell) PetscCall(Tell(&s));
  if (levels) PetscCall(TestLevels(&s));
  else {
    PetscCall(TestSolver(&s));
    PetscCall(TestPC(&s));
    PetscCall(TestBackends(&s));
  }
  if (check.failed) PetscCall(Tell(&s));
  PetscCall(DestroySystem(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       first = 1, count = 50, patience = 60, done = 0;
  PetscReal      seconds = 0;
  PetscLogDouble start, now;
  PetscBool      timed;
  int            more = 1;
  PetscMPIInt    size;
  PetscErrorCode code;
  PetscBool      levels = PETSC_FALSE, tell = PETSC_FALSE;
  char           backend[16] = "auto";

  PetscFunctionBeginUser;
  (void)setenv("OMP_NUM_THREADS", "2", 0); /* so that numbers of threads are those of omp_set_num_threads() */
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, &timed));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-patience", &patience, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-levels", &levels, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-tell", &tell, NULL));
  (void)signal(SIGALRM, Hangs);
  PetscCall(PetscTime(&start));
  while (more) {
    if (Case("seed_%d", (int)(first + done))) {
      (void)alarm((unsigned)patience);
      code = Test((int)(first + done), backend, levels, tell);
      (void)alarm(0);
      if (code) { /* perhaps not on all ranks */
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "Not so: %s: error %d\n", check.name, (int)code));
        PetscCall(CheckPrintCommand());
      }
      PetscCall(code);
    }
    done++;
    PetscCall(PetscTime(&now));
    more = timed ? now - start < seconds : done < count;
    PetscCallMPI(MPI_Bcast(&more, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (timed)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " systems on %d ranks, seeds %" PetscInt_FMT " to %" PetscInt_FMT "\n", done,
                          size, first, first + done - 1));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      nsize: {{1 2 3 4}}
      test:
         suffix: host
      test:
         suffix: host_levels
         args: -levels
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -backend cuda -mat_type aijcusparse

TEST*/
