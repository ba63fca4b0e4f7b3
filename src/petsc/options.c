/*
   The options that every face of block-asynchronous iteration has, and what they may be
*/
#include "../multigrid/hierarchy.h"
#include <petsc/private/petscimpl.h>

const char *const BAIMethods[]  = {"auto", "krylov", "relaxation", "BAIMethod", "BAI_METHOD_", NULL};
const char *const BAIKrylovs[]  = {"auto", "cg", "fcg", "bcgs", "gmres", "BAIKrylov", "BAI_KRYLOV_", NULL};
const char *const BAIModes[]    = {"async", "launch", "sync", "color", "auto", "BAIMode", "BAI_MODE_", NULL};
const char *const BAIBackends[] = {"auto", "host", "cuda", "BAIBackend", "BAI_BACKEND_", NULL};
const char *const BAIWeights[]  = {"none", "l1", "tau", "auto", "BAIWeight", "BAI_WEIGHT_", NULL};

const char *const BAIExchanges[]      = {"auto", "scatter", "amc", "dc", "dk", "BAIExchange", "BAI_EXCHANGE_", NULL};
const char *const BAIPrecisions[]     = {"native", "single", "BAIPrecision", "BAI_PRECISION_", NULL};
const char *const BAIRefines[]        = {"auto", "none", "sync", "async", "BAIRefine", "BAI_REFINE_", NULL};
const char *const BAIKernels[]        = {"auto", "resident", "stream", "generic", "BAIKernel", "BAI_KERNEL_", NULL};
const char *const BAIFaultTypes[]     = {"rows", "blocks", "x", "matrix", "sums", "BAIFaultType", "BAI_FAULT_", NULL};
const char *const BAIPolynomials[]    = {"auto", "none", "fourth", "BAIPolynomial", "BAI_POLYNOMIAL_", NULL};
const char *const BAIPartitionTypes[] = {"auto",           "natural", "dm", "rcm", "graph", "BAIPartitionType",
                                         "BAI_PARTITION_", NULL};

/* The rows of options.def; the faces are in the order KSPBAI, PCBAI, PCBAIMG */
enum {
  FACES = 3
};

typedef enum {
  IS_INT,
  IS_COUNT,
  IS_POSITIVE,
  IS_REAL,
  IS_FRACTION,
  IS_FLAG,
  IS_FLAG_OR_AUTO,
  IS_VIEWER,
  IS_NAME
} Kind;

typedef struct {
  const char        *name;     /* in -ksp_bai_<name> */
  const char        *function; /* in KSPBAISet<function>(), "" if there is none */
  const char        *text;
  size_t             offset; /* in BAIOptions, or BAILevelsOptions */
  PetscBool          has[FACES];
  double             standard[FACES];
  BAIOptionOf        of;
  Kind               kind;
  PetscInt           least, most; /* IS_INT, IS_COUNT, IS_REAL; most is 0 if there is none */
  const char        *meaning;     /* IS_INT: of the least value; IS_POSITIVE: of 0, NULL if that is not allowed */
  PetscBool          or_auto[FACES];
  const char *const *names;
} Option;

#define BOTH(value)               KSP_PC(value, value)
#define KSP_PC(ksp, pc)           .has = {PETSC_TRUE, PETSC_TRUE}, .standard = {ksp, pc}
#define KSP_ONLY(value)           .has = {PETSC_TRUE, PETSC_FALSE}, .standard = {value}
#define PC_ONLY(value)            .has = {PETSC_FALSE, PETSC_TRUE}, .standard = {0, value}
#define MG_ONLY(value)            .has = {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, .standard = {0, 0, value}
#define RELAXATION                .of = BAI_OF_RELAXATION
#define KRYLOV                    .of = BAI_OF_KRYLOV
#define BOTH_METHODS              .of = BAI_OF_BOTH
#define EITHER                    .of = BAI_OF_EITHER
#define AT_LEAST(n, what)         .kind = IS_INT, .least = n, .meaning = what
#define BETWEEN(n, m)             .kind = IS_INT, .least = n, .most = m, .meaning = ""
#define POSITIVE_OR_0(what)       .kind = IS_POSITIVE, .meaning = what
#define POSITIVE_OR_AUTO(ksp, pc) .kind = IS_POSITIVE, .or_auto = {ksp, pc}
#define COUNT(n, what)            .kind = IS_COUNT, .least = 1, .most = n
#define REAL_AT_LEAST(n, what)    .kind = IS_REAL, .least = n
#define FRACTION                  .kind = IS_FRACTION
#define AUTO                      PETSC_TRUE
#define NO_AUTO                   PETSC_FALSE
#define FLAG                      .kind = IS_FLAG
#define FLAG_OR_AUTO              .kind = IS_FLAG_OR_AUTO
#define VIEWER                    .kind = IS_VIEWER
#define NAMES(array)              .kind = IS_NAME, .names = array
#define OPTION(field, Function, type, standard, method, range, says) \
  {.name = #field, .function = #Function, .text = says, .offset = offsetof(OPTIONS, field), standard, method, range},
static const Option all[] = {
#define OPTIONS BAIOptions
#include "options.def"
#include "../research/options.def"
#undef OPTIONS
#define OPTIONS BAILevelsOptions
#include "../pc/baimg/options.def"
};
_Static_assert(PETSC_STATIC_ARRAY_LENGTH(all) <= 64, "BAI has a bit for each of them");

static PetscBool IsInteger(Kind kind)
{
  return (PetscBool)(kind == IS_INT || kind == IS_COUNT);
}

static PetscBool IsBoolean(Kind kind)
{
  return (PetscBool)(kind == IS_FLAG || kind == IS_VIEWER);
}

/* Enums, PetscBool3 among them, are read and written as the int that they are */
static PetscBool IsEnum(Kind kind)
{
  return (PetscBool)(kind == IS_NAME || kind == IS_FLAG_OR_AUTO);
}

static size_t SizeOf(Kind kind)
{
  return IsInteger(kind) ? sizeof(PetscInt)
    : IsBoolean(kind)    ? sizeof(PetscBool)
    : IsEnum(kind)       ? sizeof(int)
                         : sizeof(PetscReal);
}

static void *FieldOf(const Option *option, void *options)
{
  return (char *)options + option->offset;
}

static void *OptionsOf(BAI *bai)
{
  return bai->face->levels ? (void *)&bai->hierarchy->options : (void *)&bai->options;
}

/* The first option of this method that users gave, or NULL */
const char *BAIOptionsGiven(const BAI *bai, BAIOptionOf of)
{
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    if (all[k].of == of && (bai->asked >> k & 1)) return all[k].name;
  }
  return NULL;
}

/* The default options: undamped local sweeps solve, damped ones smooth, and best if blocks take turns. Options that the
   face does not have stay as they are */
PetscErrorCode BAIOptionsStandard(const BAIFace *face, void *options)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    const double standard = all[k].standard[face->number];
    void        *field    = FieldOf(&all[k], options);

    if (!all[k].has[face->number]) continue;
    if (IsInteger(all[k].kind)) *(PetscInt *)field = (PetscInt)standard;
    else if (IsBoolean(all[k].kind)) *(PetscBool *)field = (PetscBool)(standard != 0);
    else if (IsEnum(all[k].kind)) *(int *)field = (int)standard;
    else *(PetscReal *)field = (PetscReal)standard;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data of a KSP or PC begins with the default options */
PetscErrorCode BAIInitialize(PetscObject obj, const BAIFace *face, BAI *bai)
{
  PetscFunctionBegin;
  bai->obj       = obj;
  bai->face      = face;
  bai->relax.tau = 1.0;
  if (!face->levels) PetscCall(BAIOptionsStandard(face, &bai->options)); /* else BAIHierarchyCreate() does it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Field by field, as what lies between them may differ, and on one rank only */
PetscErrorCode BAIOptionsEqual(const BAIFace *face, const void *a, const void *b, PetscBool *equal)
{
  PetscFunctionBegin;
  *equal = PETSC_TRUE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all) && *equal; k++) {
    const size_t offset = all[k].offset;

    if (!all[k].has[face->number]) continue;
    PetscCall(PetscMemcmp((const char *)a + offset, (const char *)b + offset, SizeOf(all[k].kind), equal));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of a KSP or PC, or NULL if it is not one of ours */
PetscErrorCode BAIGet(PetscObject obj, const BAIFace *face, BAI **bai)
{
  PetscBool is_bai;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(obj, face->type, &is_bai));
  *bai = is_bai ? (*face->data)(obj) : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "-<prefix>ksp_bai_<option>" or the like, as users type it */
PetscErrorCode BAIOptionName(const BAI *bai, const char option[], char name[], size_t len)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(bai->obj, &prefix));
  PetscCall(PetscSNPrintf(name, len, "-%s%s_%s_%s", prefix ? prefix : "", bai->face->name, bai->face->type, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What its values must be, in words */
static PetscErrorCode Allowed(const Option *option, int face, char text[], size_t len)
{
  PetscFunctionBegin;
  switch (option->kind) {
  case IS_INT:
    PetscCall(PetscSNPrintf(text, len, "at least %" PetscInt_FMT, option->least));
    if (option->most)
      PetscCall(
        PetscSNPrintf(text, len, "at least %" PetscInt_FMT " and at most %" PetscInt_FMT, option->least, option->most));
    if (option->meaning[0])
      PetscCall(PetscSNPrintf(text, len, "at least %" PetscInt_FMT " (%" PetscInt_FMT ": %s)", option->least,
                              option->least, option->meaning));
    break;
  case IS_COUNT:
    PetscCall(PetscSNPrintf(text, len, "auto, or at least 1 and at most %" PetscInt_FMT, option->most));
    break;
  case IS_REAL:
    PetscCall(PetscSNPrintf(text, len, "a number, at least %" PetscInt_FMT, option->least));
    break;
  case IS_POSITIVE:
    PetscCall(PetscSNPrintf(text, len, "a positive number%s%s%s%s", option->meaning ? ", or 0 (" : "",
                            option->meaning ? option->meaning : "", option->meaning ? ")" : "",
                            option->or_auto[face] ? ", or auto" : ""));
    break;
  case IS_FRACTION:
    PetscCall(PetscSNPrintf(text, len, "at least 0 and less than 1%s", option->or_auto[face] ? ", or auto" : ""));
    break;
  case IS_FLAG:
    PetscCall(PetscSNPrintf(text, len, "true or false"));
    break;
  case IS_FLAG_OR_AUTO:
    PetscCall(PetscSNPrintf(text, len, "auto, true or false"));
    break;
  case IS_VIEWER:
    PetscCall(PetscSNPrintf(text, len, "true, false, or ascii:FILE"));
    break;
  case IS_NAME:
    PetscCall(PetscSNPrintf(text, len, "one of %s", option->names[0]));
    for (int n = 1; option->names[n + 2]; n++) {
      PetscCall(PetscStrlcat(text, ", ", len));
      PetscCall(PetscStrlcat(text, option->names[n], len));
    }
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error that a wrong value is */
static PetscErrorCode WrongValue(const BAI *bai, const Option *option, const char value[])
{
  char name[PETSC_MAX_OPTION_NAME], allowed[128];

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
  PetscCall(Allowed(option, bai->face->number, allowed, sizeof(allowed)));
  SETERRQ(PetscObjectComm(bai->obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %s: must be %s", name, value, allowed);
}

static PetscErrorCode CheckReal(const BAI *bai, const Option *option, PetscReal value, PetscBool right)
{
  char text[32];

  PetscFunctionBegin;
  if (right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(text, sizeof(text), "%g", (double)value));
  PetscCall(WrongValue(bai, option, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the range of numbers */
static PetscBool IsRight(const Option *option, PetscReal value)
{
  if (option->kind == IS_FRACTION) return (PetscBool)(value >= 0 && value < 1);
  if (option->kind == IS_REAL) return (PetscBool)(value >= (PetscReal)option->least && !PetscIsInfOrNanReal(value));
  return (PetscBool)((value > 0 && !PetscIsInfOrNanReal(value)) || (option->meaning && value == 0));
}

static PetscErrorCode CheckInt(const BAI *bai, const Option *option, PetscInt value, PetscBool right)
{
  char text[32];

  PetscFunctionBegin;
  if (right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT, value));
  PetscCall(WrongValue(bai, option, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* word is NULL if the value came as a number */
static PetscErrorCode CheckName(const BAI *bai, const Option *option, const char word[], int value)
{
  int       count = 0;
  PetscBool known = PETSC_FALSE;

  PetscFunctionBegin;
  for (; option->names[count + 2] && !known; count++) {
    if (word) PetscCall(PetscStrcasecmp(word, option->names[count], &known));
  }
  if (word && !known) PetscCall(WrongValue(bai, option, word));
  if (!word) PetscCall(CheckInt(bai, option, value, (PetscBool)(value >= 0 && value < count)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The value is in its range, or an error names the option, the value and what is allowed */
static PetscErrorCode CheckValue(const BAI *bai, const Option *option, const void *value)
{
  PetscFunctionBegin;
  if (option->kind == IS_NAME) PetscCall(CheckName(bai, option, NULL, *(const int *)value));
  else if (option->kind == IS_FLAG_OR_AUTO) {
    const int flag = *(const int *)value;

    PetscCall(
      CheckInt(bai, option, flag,
               (PetscBool)(flag == PETSC_BOOL3_UNKNOWN || flag == PETSC_BOOL3_FALSE || flag == PETSC_BOOL3_TRUE)));
  } else if (IsInteger(option->kind)) {
    const PetscInt count = *(const PetscInt *)value;

    PetscCall(CheckInt(bai, option, count,
                       (PetscBool)((count >= option->least && (!option->most || count <= option->most)) ||
                                   (option->kind == IS_COUNT && count == PETSC_DECIDE))));
  } else if (!IsBoolean(option->kind)) {
    const PetscReal number = *(const PetscReal *)value;

    PetscCall(CheckReal(bai, option, number,
                        (PetscBool)(IsRight(option, number) ||
                                    (option->or_auto[bai->face->number] && number == PETSC_DECIDE))));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Find(const BAIFace *face, const char field[], size_t *k)
{
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  for (*k = 0; *k < PETSC_STATIC_ARRAY_LENGTH(all); (*k)++) {
    if (all[*k].has[face->number]) PetscCall(PetscStrcmp(all[*k].name, field, &is));
    if (is) PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "No option %s", field);
}

/* Whether users gave this option */
PetscErrorCode BAIOptionIsGiven(const BAI *bai, const char field[], PetscBool *is)
{
  size_t k;

  PetscFunctionBegin;
  PetscCall(Find(bai->face, field, &k));
  *is = (PetscBool)(bai->asked >> k & 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAISetOption(PetscObject obj, const BAIFace *face, const char field[], const void *value)
{
  BAI   *bai = NULL;
  size_t k;

  PetscFunctionBegin;
  PetscCall(BAIGet(obj, face, &bai));
  if (!bai) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Find(face, field, &k));
  PetscCall(CheckValue(bai, &all[k], value));
  PetscCall(PetscMemcpy(FieldOf(&all[k], OptionsOf(bai)), value, SizeOf(all[k].kind)));
  bai->asked |= (uint64_t)1 << k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIGetOption(PetscObject obj, const BAIFace *face, const char field[], void *value)
{
  BAI   *bai = NULL;
  size_t k;

  PetscFunctionBegin;
  PetscCall(BAIGet(obj, face, &bai));
  PetscCheck(bai, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
             "The %s is of type %s, which has no such option: must be %s", face->name,
             obj->type_name ? obj->type_name : "(not set)", face->type);
  PetscCall(Find(face, field, &k));
  PetscCall(PetscMemcpy(value, FieldOf(&all[k], OptionsOf(bai)), SizeOf(all[k].kind)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At set-up, when all of them are known: they go together */
PetscErrorCode BAIOptionsCheckTogether(const BAI *bai)
{
  const BAIOptions *o    = &bai->options;
  const MPI_Comm    comm = PetscObjectComm(bai->obj);
  char              name[PETSC_MAX_OPTION_NAME], mode[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, "mode", mode, sizeof(mode)));
  if (o->staleness >= 0 && o->mode != BAI_MODE_ASYNC && (o->mode != BAI_MODE_AUTO || !bai->face->solves)) {
    PetscCall(BAIOptionName(bai, "staleness", name, sizeof(name)));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "%s %" PetscInt_FMT " with %s %s: must be -1 but for mode async", name,
            o->staleness, mode, BAIModes[o->mode]);
  }
  if (o->polynomial != BAI_POLYNOMIAL_FOURTH || bai->face->solves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(o->mode == BAI_MODE_SYNC || o->mode == BAI_MODE_AUTO, comm, PETSC_ERR_ARG_INCOMP,
             "%s %s with polynomial fourth: must be sync or auto", mode, BAIModes[o->mode]);
  PetscCall(BAIOptionName(bai, "momentum", name, sizeof(name)));
  PetscCheck(o->momentum == 0.0, comm, PETSC_ERR_ARG_INCOMP,
             "%s %g with polynomial fourth: must be 0, as the polynomial says it", name, (double)o->momentum);
  PetscCall(BAIOptionName(bai, "weight", name, sizeof(name)));
  PetscCheck(o->weight == BAI_WEIGHT_NONE || o->weight == BAI_WEIGHT_L1, comm, PETSC_ERR_ARG_INCOMP,
             "%s %s with polynomial fourth: must be none or l1, as the polynomial damps", name, BAIWeights[o->weight]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PetscOptionsEnum(), but an unknown word is met with the list of the known ones */
static PetscErrorCode OptionsName(const BAI *bai, const Option *option, const char key[], const char text[],
                                  const char man[], int *value, BAIOptionItems PetscOptionsObject)
{
  char      name[PETSC_MAX_OPTION_NAME], word[64];
  PetscBool set;
  PetscEnum e = (PetscEnum)*value;

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
  PetscCall(PetscOptionsGetString(bai->obj->options, NULL, name, word, sizeof(word), &set));
  if (set) PetscCall(CheckName(bai, option, word, 0));
  PetscCall(PetscOptionsEnum(key, text, man, option->names, e, &e, NULL));
  *value = (int)e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIReadsAs(BAIWord kind, const char word[], PetscBool *is, PetscBool *yes)
{
  PetscErrorCode code;
  PetscInt       count;
  PetscReal      number;
  PetscBool      flag = PETSC_TRUE; /* an option without a value is yes */

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (kind == BAI_WORD_INT) code = PetscOptionsStringToInt(word, &count);
  else if (kind == BAI_WORD_REAL) code = PetscOptionsStringToReal(word, &number);
  else code = word[0] ? PetscOptionsStringToBool(word, &flag) : PETSC_SUCCESS;
  PetscCall(PetscPopErrorHandler());
  *is = (PetscBool)!code;
  if (*is && kind == BAI_WORD_BOOL) *yes = flag; /* PETSc sets its flag even where it fails */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's errors about words that are no number, or neither yes nor no, do not name the option */
static PetscErrorCode CheckWord(const BAI *bai, const Option *option)
{
  char      name[PETSC_MAX_OPTION_NAME], word[64];
  PetscBool set, right, yes;

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
  PetscCall(PetscOptionsGetString(bai->obj->options, NULL, name, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReadsAs(option->kind == IS_FLAG ? BAI_WORD_BOOL : BAI_WORD_INT, word, &right, &yes));
  if (!right) PetscCall(WrongValue(bai, option, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number, or auto where there is that. PETSC_DECIDE, which is -1, is no number that users may type */
static PetscErrorCode OptionsNumber(const BAI *bai, const Option *option, const char key[], const char text[],
                                    const char man[], PetscReal *value, BAIOptionItems PetscOptionsObject)
{
  char      now[32], word[32], *end = NULL;
  PetscBool set, is_auto = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%g", (double)*value));
  PetscCall(PetscOptionsString(key, text, man, *value == PETSC_DECIDE ? "auto" : now, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  if (option->or_auto[bai->face->number]) PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  *value = is_auto ? PETSC_DECIDE : (PetscReal)strtod(word, &end);
  if (is_auto) PetscFunctionReturn(PETSC_SUCCESS);
  if (end == word || *end) PetscCall(WrongValue(bai, option, word));
  PetscCall(CheckReal(bai, option, *value, IsRight(option, *value)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of things, or auto. What stands for that is no number that users may type */
static PetscErrorCode OptionsCount(const BAI *bai, const Option *option, const char key[], const char text[],
                                   const char man[], PetscInt *value, BAIOptionItems PetscOptionsObject)
{
  char           now[32], word[32], *end = NULL;
  PetscBool      set, is_auto;
  PetscLogDouble number;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%" PetscInt_FMT, *value));
  PetscCall(PetscOptionsString(key, text, man, *value == PETSC_DECIDE ? "auto" : now, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  number = strtod(word, &end);
  if (!is_auto &&
      (end == word || *end || number != floor(number) || number < (PetscLogDouble)option->least ||
       number > (PetscLogDouble)option->most))
    PetscCall(WrongValue(bai, option, word));
  *value = is_auto ? PETSC_DECIDE : (PetscInt)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Yes, no, or auto */
static PetscErrorCode OptionsFlagOrAuto(const BAI *bai, const Option *option, const char key[], const char text[],
                                        const char man[], int *value, BAIOptionItems PetscOptionsObject)
{
  const char *now = *value == PETSC_BOOL3_UNKNOWN ? "auto" : *value == PETSC_BOOL3_TRUE ? "true" : "false";
  char        word[32];
  PetscBool   set, is_auto, is_bool, yes = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString(key, text, man, now, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  PetscCall(BAIReadsAs(BAI_WORD_BOOL, word, &is_bool, &yes));
  if (!is_auto && !is_bool) PetscCall(WrongValue(bai, option, word));
  *value = is_auto ? PETSC_BOOL3_UNKNOWN : yes ? PETSC_BOOL3_TRUE : PETSC_BOOL3_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Yes, no, or an ASCII viewer, which is yes: see BAIStatsGetViewer() */
static PetscErrorCode OptionsViewer(const BAI *bai, const Option *option, const char key[], const char man[],
                                    PetscBool *value, BAIOptionItems PetscOptionsObject)
{
  char      word[PETSC_MAX_PATH_LEN];
  PetscBool set, known, yes = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString(key, option->text, man, *value ? "true" : "false", word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReadsAs(BAI_WORD_BOOL, word, &known, &yes));
  if (!known && word[0] != ':') {
    PetscCall(PetscStrncmp(word, "ascii", 5, &known));
    if (!known) PetscCall(WrongValue(bai, option, word));
  }
  *value = yes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the options into a copy, so that a wrong one changes nothing */
PetscErrorCode BAIOptionsSetFromOptions(BAI *bai, BAIOptionItems PetscOptionsObject)
{
  const int    face  = bai->face->number;
  const size_t size  = bai->face->levels ? sizeof(BAILevelsOptions) : sizeof(BAIOptions);
  uint64_t     asked = bai->asked;
  char         type[16];
  union {
    BAIOptions       relaxation;
    BAILevelsOptions levels;
  } o;

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(&o, OptionsOf(bai), size));
  PetscCall(PetscStrncpy(type, bai->face->type, sizeof(type)));
  PetscCall(PetscStrtoupper(type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    const Option *option = &all[k];
    void         *field  = FieldOf(option, &o);
    char          key[64], man[64], allowed[128], text[256], name[PETSC_MAX_OPTION_NAME];
    PetscBool     set;

    if (!option->has[face]) continue;
    PetscCall(PetscSNPrintf(key, sizeof(key), "-%s_%s_%s", bai->face->name, bai->face->type, option->name));
    PetscCall(PetscSNPrintf(man, sizeof(man), "%s%s%s%s", bai->face->prefix, type, option->function[0] ? "Set" : "",
                            option->function));
    PetscCall(Allowed(option, face, allowed, sizeof(allowed)));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s: %s", option->text, allowed));
    PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
    PetscCall(PetscOptionsHasName(bai->obj->options, NULL, name, &set));
    if (set) asked |= (uint64_t)1 << k;
    switch (option->kind) {
    case IS_INT:
      PetscCall(CheckWord(bai, option));
      PetscCall(PetscOptionsInt(key, text, man, *(PetscInt *)field, (PetscInt *)field, NULL));
      break;
    case IS_COUNT:
      PetscCall(OptionsCount(bai, option, key, text, man, (PetscInt *)field, PetscOptionsObject));
      break;
    case IS_POSITIVE:
    case IS_REAL:
    case IS_FRACTION:
      PetscCall(OptionsNumber(bai, option, key, text, man, (PetscReal *)field, PetscOptionsObject));
      break;
    case IS_FLAG:
      PetscCall(CheckWord(bai, option));
      PetscCall(PetscOptionsBool(key, option->text, man, *(PetscBool *)field, (PetscBool *)field, NULL));
      break;
    case IS_FLAG_OR_AUTO:
      PetscCall(OptionsFlagOrAuto(bai, option, key, text, man, (int *)field, PetscOptionsObject));
      break;
    case IS_VIEWER:
      PetscCall(OptionsViewer(bai, option, key, man, (PetscBool *)field, PetscOptionsObject));
      break;
    case IS_NAME:
      PetscCall(OptionsName(bai, option, key, option->text, man, (int *)field, PetscOptionsObject));
    }
    PetscCall(CheckValue(bai, option, field));
  }
  PetscCall(PetscMemcpy(OptionsOf(bai), &o, size));
  bai->asked = asked;
  PetscFunctionReturn(PETSC_SUCCESS);
}
