/*
   The options that every face of block-asynchronous iteration has, and what they may be
*/
#include "baiimpl.h"
#include <petsc/private/petscimpl.h>

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

/* What options.def says of each option; the faces are in the order KSP, PC */
typedef enum {
  IS_INT,
  IS_COUNT,
  IS_POSITIVE,
  IS_FRACTION,
  IS_FLAG,
  IS_VIEWER,
  IS_NAME
} Kind;

typedef struct {
  const char        *name;     /* in -ksp_bai_<name> */
  const char        *function; /* in KSPBAISet<function>() */
  const char        *text;
  size_t             offset; /* in BAIOptions */
  PetscBool          has[2];
  double             standard[2];
  Kind               kind;
  PetscInt           least, most; /* IS_INT, IS_COUNT; most is 0 if there is none */
  const char        *meaning;     /* of the least value; IS_POSITIVE: of 0, NULL if that is not allowed */
  PetscBool          or_auto[2];
  const char *const *names;
} Option;

#define BOTH(value)               KSP_PC(value, value)
#define KSP_PC(ksp, pc)           .has = {PETSC_TRUE, PETSC_TRUE}, .standard = {ksp, pc}
#define KSP_ONLY(value)           .has = {PETSC_TRUE, PETSC_FALSE}, .standard = {value}
#define PC_ONLY(value)            .has = {PETSC_FALSE, PETSC_TRUE}, .standard = {0, value}
#define AT_LEAST(n, what)         .kind = IS_INT, .least = n, .meaning = what
#define BETWEEN(n, m)             .kind = IS_INT, .least = n, .most = m, .meaning = ""
#define POSITIVE_OR_0(what)       .kind = IS_POSITIVE, .meaning = what
#define POSITIVE_OR_AUTO(ksp, pc) .kind = IS_POSITIVE, .or_auto = {ksp, pc}
#define COUNT(n)                  .kind = IS_COUNT, .most = n
#define FRACTION                  .kind = IS_FRACTION
#define AUTO                      PETSC_TRUE
#define NO_AUTO                   PETSC_FALSE
#define FLAG                      .kind = IS_FLAG
#define VIEWER                    .kind = IS_VIEWER
#define NAMES(array)              .kind = IS_NAME, .names = array
#define OPTION(field, Function, type, standard, range, says) \
  {.name = #field, .function = #Function, .text = says, .offset = offsetof(BAIOptions, field), standard, range},
static const Option all[] = {
#include "options.def"
#include "research/options.def"
};

static PetscBool IsInteger(Kind kind)
{
  return (PetscBool)(kind == IS_INT || kind == IS_COUNT);
}

static PetscBool IsBoolean(Kind kind)
{
  return (PetscBool)(kind == IS_FLAG || kind == IS_VIEWER);
}

/* Enums are read and written as the int that they are */
static void *FieldOf(const Option *option, BAIOptions *options)
{
  return (char *)options + option->offset;
}

/* The default options: undamped local sweeps solve, damped ones smooth, and best if blocks take turns */
PetscErrorCode BAIOptionsStandard(const BAIFace *face, BAIOptions *options)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(options, sizeof(*options)));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    const double standard = all[k].standard[face->number];
    void        *field    = FieldOf(&all[k], options);

    if (IsInteger(all[k].kind)) *(PetscInt *)field = (PetscInt)standard;
    else if (IsBoolean(all[k].kind)) *(PetscBool *)field = (PetscBool)(standard != 0);
    else if (all[k].kind == IS_NAME) *(int *)field = (int)standard;
    else *(PetscReal *)field = (PetscReal)standard;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data of a KSP or PC begins with the default options */
PetscErrorCode BAIInitialize(PetscObject obj, const BAIFace *face, BAI *bai)
{
  PetscFunctionBegin;
  bai->obj  = obj;
  bai->face = face;
  bai->tau  = 1.0;
  PetscCall(BAIOptionsStandard(face, &bai->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Field by field, as what lies between them may differ, and on one rank only */
PetscErrorCode BAIOptionsEqual(const BAIOptions *a, const BAIOptions *b, PetscBool *equal)
{
  PetscFunctionBegin;
  *equal = PETSC_TRUE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all) && *equal; k++) {
    const Kind   kind = all[k].kind;
    const size_t size = IsInteger(kind) ? sizeof(PetscInt)
      : IsBoolean(kind)                 ? sizeof(PetscBool)
      : kind == IS_NAME                 ? sizeof(PetscEnum)
                                        : sizeof(PetscReal);

    PetscCall(PetscMemcmp((const char *)a + all[k].offset, (const char *)b + all[k].offset, size, equal));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of a KSP or PC, or NULL if it is not one of ours */
PetscErrorCode BAIGet(PetscObject obj, const BAIFace *face, BAI **bai)
{
  PetscBool is_bai;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(obj, "bai", &is_bai));
  *bai = is_bai ? (*face->data)(obj) : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options as they were set */
PetscErrorCode BAIOptionsGet(PetscObject obj, const BAIFace *face, BAIOptions *options)
{
  BAI *bai = NULL;

  PetscFunctionBegin;
  PetscCall(BAIGet(obj, face, &bai));
  PetscCheck(bai, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
             "The %s is of type %s, which has no such option: must be bai", face->name,
             obj->type_name ? obj->type_name : "(not set)");
  *options = bai->options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "-<prefix>ksp_bai_<option>", as users type it */
PetscErrorCode BAIOptionName(const BAI *bai, const char option[], char name[], size_t len)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(bai->obj, &prefix));
  PetscCall(PetscSNPrintf(name, len, "-%s%s_bai_%s", prefix ? prefix : "", bai->face->name, option));
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
    PetscCall(PetscSNPrintf(text, len, "none, auto, or at least 1 and at most %" PetscInt_FMT, option->most));
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

/* All values are in their ranges, or an error names the option, the value and what is allowed */
PetscErrorCode BAIOptionsCheck(const BAI *bai, const BAIOptions *o)
{
  const int face = bai->face->number;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    const Option *option = &all[k];
    const void   *field  = (const char *)o + option->offset;

    if (!option->has[face] || IsBoolean(option->kind)) continue;
    if (option->kind == IS_NAME) PetscCall(CheckName(bai, option, NULL, *(const int *)field));
    else if (IsInteger(option->kind)) {
      const PetscInt value = *(const PetscInt *)field;

      PetscCall(CheckInt(bai, option, value,
                         (PetscBool)((value >= option->least && (!option->most || value <= option->most)) ||
                                     (option->kind == IS_COUNT && value == PETSC_DECIDE))));
    } else {
      const PetscReal value = *(const PetscReal *)field;

      PetscCall(CheckReal(bai, option, value,
                          (PetscBool)(IsRight(option, value) || (option->or_auto[face] && value == PETSC_DECIDE))));
    }
  }
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
  const BAIWord kind = option->kind == IS_FLAG ? BAI_WORD_BOOL : option->kind == IS_INT ? BAI_WORD_INT : BAI_WORD_REAL;
  char          name[PETSC_MAX_OPTION_NAME], word[64];
  PetscBool     set, right, yes;

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
  PetscCall(PetscOptionsGetString(bai->obj->options, NULL, name, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReadsAs(kind, word, &right, &yes));
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

/* A number of things, none, or auto. What stands for these is no number that users may type */
static PetscErrorCode OptionsCount(const BAI *bai, const Option *option, const char key[], const char text[],
                                   const char man[], PetscInt *value, BAIOptionItems PetscOptionsObject)
{
  char           now[32], word[32], *end = NULL;
  PetscBool      set, is_auto, is_none;
  PetscLogDouble number;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%" PetscInt_FMT, *value));
  PetscCall(PetscOptionsString(key, text, man,
                               *value == PETSC_DECIDE ? "auto"
                                 : *value             ? now
                                                      : "none",
                               word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  PetscCall(PetscStrcasecmp(word, "none", &is_none));
  number = strtod(word, &end);
  if (!is_auto && !is_none &&
      (end == word || *end || number != floor(number) || number < 1 || number > (PetscLogDouble)option->most))
    PetscCall(WrongValue(bai, option, word));
  *value = is_auto ? PETSC_DECIDE : is_none ? 0 : (PetscInt)number;
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
  const int  face = bai->face->number;
  BAIOptions o    = bai->options;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    const Option *option = &all[k];
    void         *field  = FieldOf(option, &o);
    char          key[64], man[64], allowed[128], text[256];

    if (!option->has[face]) continue;
    PetscCall(PetscSNPrintf(key, sizeof(key), "-%s_bai_%s", bai->face->name, option->name));
    PetscCall(PetscSNPrintf(man, sizeof(man), "%sBAISet%s", bai->face->prefix, option->function));
    PetscCall(Allowed(option, face, allowed, sizeof(allowed)));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s: %s", option->text, allowed));
    if (option->kind == IS_INT || option->kind == IS_POSITIVE || option->kind == IS_FLAG)
      if (!option->or_auto[face]) PetscCall(CheckWord(bai, option));
    if (option->kind == IS_INT) PetscCall(PetscOptionsInt(key, text, man, *(PetscInt *)field, (PetscInt *)field, NULL));
    else if (option->kind == IS_COUNT)
      PetscCall(OptionsCount(bai, option, key, text, man, (PetscInt *)field, PetscOptionsObject));
    else if (option->kind == IS_POSITIVE && !option->or_auto[face])
      PetscCall(PetscOptionsReal(key, text, man, *(PetscReal *)field, (PetscReal *)field, NULL));
    else if (option->kind == IS_FRACTION || option->kind == IS_POSITIVE)
      PetscCall(OptionsNumber(bai, option, key, text, man, (PetscReal *)field, PetscOptionsObject));
    else if (option->kind == IS_VIEWER)
      PetscCall(OptionsViewer(bai, option, key, man, (PetscBool *)field, PetscOptionsObject));
    else if (option->kind == IS_FLAG)
      PetscCall(PetscOptionsBool(key, option->text, man, *(PetscBool *)field, (PetscBool *)field, NULL));
    else PetscCall(OptionsName(bai, option, key, option->text, man, (int *)field, PetscOptionsObject));
  }
  PetscCall(BAIOptionsCheck(bai, &o));
  bai->options = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}
