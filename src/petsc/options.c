/* The options of KSPBAI, PCBAI and PCBAIMG, and their ranges */
#include "../multigrid/hierarchy.h"
#include "generated/words.def"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

const BAIFace BAIFaceKSP = {.number = 0, .name = "ksp", .prefix = "KSP", .type = KSPBAI, .solves = PETSC_TRUE};
const BAIFace BAIFacePC  = {.number = 1, .name = "pc", .prefix = "PC", .type = PCBAI};
const BAIFace BAIFaceMG  = {.number = 2, .name = "pc", .prefix = "PC", .type = PCBAIMG, .levels = PETSC_TRUE};

/* The rows of options.def; faces are in the order KSPBAI, PCBAI, PCBAIMG */
enum {
  FACES = 3
};

typedef enum {
  IS_INT,
  IS_REAL,
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
  double             least, most; /* range; a real number must be less than most */
  PetscBool          or_auto;
  const char        *allowed; /* range in words; NULL: one of names */
  const char *const *names;
} Option;

#define BOTH(value)       KSP_PC(value, value)
#define KSP_PC(ksp, pc)   .has = {PETSC_TRUE, PETSC_TRUE}, .standard = {ksp, pc}
#define KSP_ONLY(value)   .has = {PETSC_TRUE, PETSC_FALSE}, .standard = {value}
#define PC_ONLY(value)    .has = {PETSC_FALSE, PETSC_TRUE}, .standard = {0, value}
#define MG_ONLY(value)    .has = {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, .standard = {0, 0, value}
#define RELAXATION        .of = BAI_OF_RELAXATION
#define KRYLOV            .of = BAI_OF_KRYLOV
#define BOTH_METHODS      .of = BAI_OF_BOTH
#define EITHER            .of = BAI_OF_EITHER
#define INT(n, m, words)  .kind = IS_INT, .least = n, .most = m, .allowed = words
#define REAL(n, m, words) .kind = IS_REAL, .least = n, .most = m, .allowed = words
#define AT_LEAST(n, what) \
  INT(n, PETSC_MAX_INT, sizeof(what) > 1 ? "at least " #n " (" #n ": " what ")" : "at least " #n)
#define BETWEEN(n, m)          INT(n, m, "at least " #n " and at most " #m)
#define COUNT(n, what)         INT(1, n, "auto, or at least 1 and at most " #n), .or_auto = PETSC_TRUE
#define POSITIVE_OR_0(what)    REAL(0, INFINITY, "a positive number, or 0 (" what ")")
#define POSITIVE               REAL(DBL_TRUE_MIN, INFINITY, "a positive number")
#define REAL_AT_LEAST(n, what) REAL(n, INFINITY, "a number, at least " #n)
#define FRACTION               REAL(0, 1, "at least 0 and less than 1")
#define FLAG                   .kind = IS_FLAG, .most = 1, .allowed = "true or false"
#define FLAG_OR_AUTO           .kind = IS_FLAG_OR_AUTO, .least = -1, .most = 1, .allowed = "auto, true or false"
#define VIEWER                 .kind = IS_VIEWER, .most = 1, .allowed = "true, false, or ascii:FILE"
#define NAMES(array)           .kind = IS_NAME, .names = array
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

/* Enums, including PetscBool3, are accessed as int */
static PetscBool IsEnum(Kind kind)
{
  return (PetscBool)(kind == IS_NAME || kind == IS_FLAG_OR_AUTO);
}

static size_t SizeOf(Kind kind)
{
  if (kind == IS_INT) return sizeof(PetscInt);
  if (kind == IS_REAL) return sizeof(PetscReal);
  return IsEnum(kind) ? sizeof(int) : sizeof(PetscBool);
}

/* The value of a field as a number; auto is PETSC_DECIDE, of a flag too */
static double GetNumber(Kind kind, const void *field)
{
  if (kind == IS_INT) return (double)*(const PetscInt *)field;
  if (kind == IS_REAL) return (double)*(const PetscReal *)field;
  if (IsEnum(kind)) return *(const int *)field;
  return *(const PetscBool *)field ? 1 : 0;
}

static void PutNumber(Kind kind, double number, void *field)
{
  if (kind == IS_INT) *(PetscInt *)field = (PetscInt)number;
  else if (kind == IS_REAL) *(PetscReal *)field = (PetscReal)number;
  else if (IsEnum(kind)) *(int *)field = (int)number;
  else *(PetscBool *)field = (PetscBool)(number != 0);
}

static void *FieldOf(const Option *option, void *options)
{
  return (char *)options + option->offset;
}

/* The options of the user: BAILevelsOptions of a PCBAIMG, otherwise BAIOptions */
static void *OptionsOf(BAI *bai)
{
  return bai->face->levels ? (void *)&bai->hierarchy->options : (void *)&bai->options;
}

/* Notes that options have changed, so that the next set-up compares them */
void BAIChanged(BAI *bai)
{
  static PetscInt64 changes;

  bai->change = ++changes;
}

/* The first option of this method that the user gave, or NULL */
const char *BAIOptionsGiven(const BAI *bai, BAIOptionOf of)
{
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    if (all[k].of == of && (bai->asked >> k & 1)) return all[k].name;
  }
  return NULL;
}

/* Sets options to their defaults: local sweeps are undamped in a solver, and damped in a smoother, whose blocks take
   turns. Options that the face does not have stay unchanged */
PetscErrorCode BAIOptionsStandard(const BAIFace *face, void *options)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    if (!all[k].has[face->number]) continue;
    PutNumber(all[k].kind, all[k].standard[face->number], FieldOf(&all[k], options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares the data of a new object, which are zeros before: its options become the defaults */
PetscErrorCode BAIInitialize(PetscObject obj, const BAIFace *face, BAI *bai)
{
  PetscFunctionBegin;
  bai->obj       = obj;
  bai->face      = face;
  bai->relax.tau = 1.0;
  BAIChanged(bai);
  if (!face->levels) PetscCall(BAIOptionsStandard(face, &bai->options)); /* otherwise BAIHierarchyCreate() does it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares options field by field, as padding may differ, on this rank only */
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

/* Gets the data of a KSP or PC, or NULL if it is of another type. A BAI is the first member of all data */
PetscErrorCode BAIGet(PetscObject obj, const BAIFace *face, BAI **bai)
{
  PetscBool is_bai;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(obj, face->type, &is_bai));
  *bai = !is_bai ? NULL : face->solves ? (BAI *)((KSP)obj)->data : (BAI *)((PC)obj)->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the key of an option, such as "-<prefix>ksp_bai_<option>" */
PetscErrorCode BAIOptionName(const BAI *bai, const char option[], char name[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, len, "-%s%s_%s_%s", BAIPrefixOf(bai->obj), bai->face->name, bai->face->type, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of words of an array for PETSc, which ends with the type, the prefix and NULL */
static int CountNames(const char *const names[])
{
  int count = 0;

  while (names[count + 2]) count++;
  return count;
}

/* Writes the range of an option in words, as in "at least 1" */
static PetscErrorCode Allowed(const Option *option, char text[], size_t len)
{
  PetscFunctionBegin;
  if (option->allowed) PetscCall(PetscStrncpy(text, option->allowed, len));
  else PetscCall(PetscSNPrintf(text, len, "one of %s", option->names[0]));
  for (int n = 1; !option->allowed && n < CountNames(option->names); n++) {
    PetscCall(PetscStrlcat(text, ", ", len));
    PetscCall(PetscStrlcat(text, option->names[n], len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises the error for a value of an option, written as in text, that is out of range */
static PetscErrorCode WrongValue(const BAI *bai, const Option *option, const char value[])
{
  char name[PETSC_MAX_OPTION_NAME], allowed[128];

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, option->name, name, sizeof(name)));
  PetscCall(Allowed(option, allowed, sizeof(allowed)));
  SETERRQ(PetscObjectComm(bai->obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %s: must be %s", name, value, allowed);
}

/* Whether a value is in the range of its option; is_auto: PETSC_DECIDE means auto */
static PetscBool IsRight(const Option *option, PetscBool is_auto, const void *value)
{
  const double number = GetNumber(option->kind, value);
  const double most   = option->kind == IS_NAME ? CountNames(option->names) - 1 : option->most;

  return (PetscBool)((is_auto && number == PETSC_DECIDE) ||
                     (number >= option->least && (number < most || (number == most && option->kind != IS_REAL))));
}

/* Writes a value as users type it; an invalid enum as a number */
static PetscErrorCode ValueText(const Option *option, PetscBool is_auto, const void *value, char text[], size_t len)
{
  const double number = GetNumber(option->kind, value);

  PetscFunctionBegin;
  if (number == PETSC_DECIDE && (is_auto || option->kind == IS_FLAG_OR_AUTO))
    PetscCall(PetscStrncpy(text, "auto", len));
  else if (option->kind == IS_INT) PetscCall(PetscSNPrintf(text, len, "%" PetscInt_FMT, *(const PetscInt *)value));
  else if (option->kind == IS_REAL) PetscCall(PetscSNPrintf(text, len, "%g", number));
  else if (!IsRight(option, is_auto, value)) PetscCall(PetscSNPrintf(text, len, "%d", (int)number));
  else if (option->kind == IS_NAME) PetscCall(PetscStrncpy(text, option->names[(int)number], len));
  else PetscCall(PetscStrncpy(text, PetscBools[(int)number], len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks that a value is in range; otherwise the error names the option, the value and the range */
static PetscErrorCode CheckValue(const BAI *bai, const Option *option, PetscBool is_auto, const void *value)
{
  char text[64];

  PetscFunctionBegin;
  if (IsRight(option, is_auto, value)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ValueText(option, is_auto, value, text, sizeof(text)));
  PetscCall(WrongValue(bai, option, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the number k in all[] of the option of a face with this name */
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

/* Sets an option and notes that the user gave it, if the object is of the type of face, otherwise nothing */
PetscErrorCode BAISetOption(PetscObject obj, const BAIFace *face, const char field[], const void *value)
{
  BAI   *bai = NULL;
  size_t k;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(obj, face->solves ? KSP_CLASSID : PC_CLASSID, 1);
  PetscCall(Find(face, field, &k));
  PetscValidLogicalCollectiveReal(obj, (PetscReal)GetNumber(all[k].kind, value), 4);
  PetscCall(BAIGet(obj, face, &bai));
  if (!bai) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckValue(bai, &all[k], all[k].or_auto, value));
  PetscCall(PetscMemcpy(FieldOf(&all[k], OptionsOf(bai)), value, SizeOf(all[k].kind)));
  bai->asked |= (uint64_t)1 << k;
  BAIChanged(bai);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Passes the value of an option that the user gave to a KSP on to its PC, whose range may be smaller, unless the user
   gave it to the PC. It does not count as given there, and an error names the key of the KSP */
PetscErrorCode BAIPassOption(BAI *ksp, BAI *pc, const char field[])
{
  const void *value;
  size_t      from, to;
  char        text[64];

  PetscFunctionBegin;
  PetscCall(Find(ksp->face, field, &from));
  PetscCall(Find(pc->face, field, &to));
  if (!(ksp->asked >> from & 1) || (pc->asked >> to & 1)) PetscFunctionReturn(PETSC_SUCCESS);
  value = FieldOf(&all[from], OptionsOf(ksp));
  if (!IsRight(&all[to], PETSC_FALSE, value)) {
    PetscCall(ValueText(&all[to], PETSC_FALSE, value, text, sizeof(text)));
    PetscCall(PetscStrlcat(text, " with a PC of type baimg", sizeof(text)));
    PetscCall(WrongValue(ksp, &all[to], text));
  }
  PetscCall(PetscMemcpy(FieldOf(&all[to], OptionsOf(pc)), value, SizeOf(all[to].kind)));
  BAIChanged(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the value of an option; an error if the object is not of the type of face */
PetscErrorCode BAIGetOption(PetscObject obj, const BAIFace *face, const char field[], void *value)
{
  BAI   *bai = NULL;
  size_t k;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(obj, face->solves ? KSP_CLASSID : PC_CLASSID, 1);
  PetscAssertPointer(value, 4);
  PetscCall(BAIGet(obj, face, &bai));
  PetscCheck(bai, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
             "The %s is of type %s, which has no such option: must be %s", face->name,
             obj->type_name ? obj->type_name : "(not set)", face->type);
  PetscCall(Find(face, field, &k));
  PetscCall(PetscMemcpy(value, FieldOf(&all[k], OptionsOf(bai)), SizeOf(all[k].kind)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc reads a word as a PetscBool, and which; an option without a value means yes */
PetscErrorCode BAIReadsAsBool(const char word[], PetscBool *is, PetscBool *yes)
{
  static const char *const words[] = {"false", "no", "off", "0", "true", "yes", "on", "1"};
  PetscInt                 index   = 0;

  PetscFunctionBegin;
  /* the word is not one of words */
  PetscCall(PetscEListFind(PETSC_STATIC_ARRAY_LENGTH(words), words, word, &index, is));
  *yes = (PetscBool)(!word[0] || index > 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the value of a word; right: the word has a value; is_auto: the word is auto. An ASCII viewer means true, see
   BAIStatsGetViewer() */
static PetscErrorCode ReadWord(const Option *option, PetscBool is_auto, const char word[], void *value,
                               PetscBool *right)
{
  char     *end;
  PetscInt  index = 0;
  PetscBool yes   = PETSC_FALSE;

  PetscFunctionBegin;
  *right = PETSC_TRUE;
  if (is_auto) PutNumber(option->kind, PETSC_DECIDE, value);
  else if (option->kind == IS_INT) {
    const long long number = strtoll(word, &end, 10);

    *right             = (PetscBool)(end != word && !*end && (long long)(PetscInt)number == number);
    *(PetscInt *)value = (PetscInt)number;
  } else if (option->kind == IS_REAL) {
    PutNumber(IS_REAL, strtod(word, &end), value);
    *right = (PetscBool)(end != word && !*end);
  } else if (option->kind == IS_NAME) {
    PetscCall(PetscEListFind(CountNames(option->names), option->names, word, &index, right));
    if (!word[0]) *right = PETSC_FALSE; /* PETSc reads an empty word as the first one */
    PutNumber(IS_NAME, (double)index, value);
  } else {
    PetscCall(BAIReadsAsBool(word, right, &yes));
    if (!*right && option->kind == IS_VIEWER) {
      PetscCall(PetscStrncmp(word, "ascii", 5, right));
      yes = *right = (PetscBool)(*right || word[0] == ':');
    }
    PutNumber(option->kind, yes, value);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the options into a copy, so that an invalid one changes nothing */
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
    char          key[64], man[64], allowed[128], text[256], now[64], word[PETSC_MAX_PATH_LEN];
    PetscBool     set, right, is_auto;

    if (!option->has[face]) continue;
    PetscCall(PetscSNPrintf(key, sizeof(key), "-%s_%s_%s", bai->face->name, bai->face->type, option->name));
    PetscCall(PetscSNPrintf(man, sizeof(man), "%s%s%s%s", bai->face->prefix, type, option->function[0] ? "Set" : "",
                            option->function));
    PetscCall(Allowed(option, allowed, sizeof(allowed)));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s: %s", option->text, allowed));
    PetscCall(ValueText(option, option->or_auto, field, now, sizeof(now)));
    PetscCall(PetscOptionsString(key, text, man, now, word, sizeof(word), &set));
    if (!set) continue;
    asked |= (uint64_t)1 << k;
    PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
    is_auto = (PetscBool)(is_auto && (option->or_auto || option->kind == IS_FLAG_OR_AUTO));
    PetscCall(ReadWord(option, is_auto, word, field, &right));
    if (!right) PetscCall(WrongValue(bai, option, word));
    PetscCall(CheckValue(bai, option, is_auto, field));
  }
  PetscCall(PetscMemcpy(OptionsOf(bai), &o, size));
  bai->asked = asked;
  BAIChanged(bai);
  PetscFunctionReturn(PETSC_SUCCESS);
}
