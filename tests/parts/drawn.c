#include "drawn.h"
#include "baicompat.h"
#include <petsc/private/petscimpl.h>
#include <float.h>

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
  PetscBool          has[2];
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
#define POSITIVE                                                     .kind = IS_REAL
#define FRACTION                                                     .kind = IS_FRACTION
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
  {"its",            4}
};

static const char *const patterns[] = {"diagonal", "band",   "grid",    "random", "near",
                                       "lower",    "blocks", "islands", "hubs",   "arrow"};

/* Natural numbers, small ones above all */
static PetscInt SmallInt(Dice *dice, PetscInt least, PetscInt most)
{
  const PetscInt spans[] = {2, 4, 12, 70, 600};
  const PetscInt span    = spans[Below(dice, 5)];

  return least + Below(dice, most < least + span ? most - least + 1 : span);
}

/* A word for the value of an option, drawn from its range */
static void DrawValue(Dice *dice, const Option *o, PetscInt most, char word[], size_t length)
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
    (void)snprintf(word, length, "%.3f", OneIn(dice, 3) ? 0.0 : (double)Between(dice, 0, (PetscReal)0.9));
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
      DrawValue(dice, o, most, word, sizeof(word));
      if (!strcmp(o->name, "exchange") && !strcmp(word, "dk"))
        continue; /* an error where ranks share a GPU; auto takes dk where it can be */
      if (face && !strcmp(o->name, "weight") && !strcmp(word, "safe")) continue; /* an error */
      if (!strcmp(word, "single") && (s->scale < 1e-30 || s->scale > 1e30))
        continue; /* entries are beyond its range: an error */
      AddOption(s, face, o->name, word);
    }
  }
}

/* Every third system has several unknowns in each point, of which each is coupled to the same unknown of other points,
   and in most of them to the other unknowns of the point */
static void DrawFields(System *s)
{
  const PetscReal bonds[] = {0, (PetscReal)0.1, 1, 30};
  Dice            dice    = RowDice(s->seed, 8, 0);

  s->fields = OneIn(&dice, 3) ? 2 + SmallInt(&dice, 0, 9) : 1;
  s->bond   = s->fields > 1 ? bonds[Below(&dice, PETSC_STATIC_ARRAY_LENGTH(bonds))] : 0;
  s->n -= s->n % s->fields;
}

void DrawSystem(System *s, int seed, const char backend[])
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
  DrawFields(s);
}

/* Points that a point is coupled to, perhaps to some of them twice */
static PetscInt Points(const System *s, PetscInt row, Dice *dice, PetscInt col[])
{
  const PetscInt n = s->n / s->fields, line = PetscMax(1, (PetscInt)PetscSqrtReal((PetscReal)n)),
                 first = row - row % s->degree;
  PetscInt count       = 0;

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

/* Columns of a row that are off its diagonal, perhaps some of them twice; the last ones, other unknowns of its point */
static PetscInt Columns(const System *s, PetscInt row, Dice *dice, PetscInt col[])
{
  const PetscInt field = row % s->fields;
  PetscInt       count = Points(s, row / s->fields, dice, col);

  for (PetscInt k = 0; k < count; k++) col[k] = col[k] * s->fields + field;
  for (PetscInt f = 0; f < s->fields && s->bond > 0; f++)
    if (f != field) col[count++] = row - field + f;
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
  const PetscInt n     = s->n / s->fields;
  Dice           dice  = RowDice(s->seed, 1, 0);
  PetscInt       begin = 0, end = 0;

  if (s->split == SPLIT_ONE) return rank == s->which % size ? s->n : 0;
  if (s->split == SPLIT_EVEN) return s->fields * (n / size + (rank < n % size));
  for (PetscMPIInt r = 0; r <= rank; r++) {
    begin = end;
    end   = r == size - 1 ? n : begin + Below(&dice, n - begin + 1);
  }
  return s->fields * (end - begin);
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
PetscErrorCode CreateSystemMat(System *s)
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
  PetscCall(PetscMalloc1(s->n + 2 * s->degree + 4 + s->fields, &col));
  for (PetscInt row = begin; row < end; row++) {
    Dice dice = RowDice(s->seed, 2, row);

    count += 1 + Columns(s, row, &dice, col);
  }
  PetscCall(PetscMalloc3(count, &i, count, &j, count, &v));
  count = 0;
  for (PetscInt row = begin; row < end; row++) {
    Dice           dice = RowDice(s->seed, 2, row);
    const PetscInt cols = Columns(s, row, &dice, col), bonds = s->bond > 0 ? s->fields - 1 : 0;

    for (PetscInt k = 0; k <= cols; k++, count++) {
      i[count] = row;
      j[count] = k < cols ? col[k] : row;
      v[count] = k < cols - bonds ? Value(s, &dice) : k < cols ? -s->bond : 0;
    }
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &s->A));
  PetscCall(MatSetSizes(s->A, m, m, s->n, s->n));
  PetscCall(MatSetBlockSize(s->A, s->fields));
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

PetscErrorCode SetRandom(const System *s, int which, Vec v)
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

PetscErrorCode CreateSystem(System *s)
{
  PetscInt       begin, end;
  MatInfo        info;
  PetscLogDouble work; /* of a global iteration */

  PetscFunctionBeginUser;
  PetscCall(CreateSystemMat(s));
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

PetscErrorCode DestroySystem(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&s->A));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NormOf(Vec v, PetscReal *norm)
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

PetscErrorCode TellSystem(const System *s)
{
  PetscFunctionBeginUser;
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "  system: %" PetscInt_FMT " rows, %" PetscInt_FMT " fields of bond %g, %s of %" PetscInt_FMT
                "%s%s%s, dominance %g, scales %g and %g, spread %g, rtol %g, atol %g, max_it %" PetscInt_FMT "%s%s\n",
                s->n, s->fields, (double)s->bond, patterns[s->pattern], s->degree, s->symmetric ? ", symmetric" : "",
                s->signs ? ", signs" : "", s->uneven ? ", uneven" : "", (double)s->dominance, (double)s->scale,
                (double)s->rhs_scale, (double)s->spread, (double)s->rtol, (double)s->atol, s->max_it,
                s->guess ? ", a guess" : "", s->norm_none ? ", no norm" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  options:%s%s\n", s->options[0], s->options[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
