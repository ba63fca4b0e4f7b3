#include "gallery.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <strings.h>

#define SPACE     " \t\r\n\v\f"
#define MAX_INDEX (PetscDefined(USE_64BIT_INDICES) ? LLONG_MAX : INT_MAX)

typedef enum {
  FIELD_REAL,
  FIELD_INTEGER,
  FIELD_PATTERN,
  FIELD_COMPLEX
} Field;

typedef enum {
  FORM_GENERAL,
  FORM_SYMMETRIC,
  FORM_SKEW,
  FORM_HERMITIAN
} Form;

static const char *const Banners[] = {"%%MatrixMarket", NULL};
static const char *const Objects[] = {"matrix", NULL};
static const char *const Formats[] = {"coordinate", NULL};
static const char *const Fields[]  = {"real", "integer", "pattern", "complex", NULL};
static const char *const Forms[]   = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};

/* A file and what has been read of it; other processes than the first only get the sizes, or the fault */
typedef struct {
  const char    *filename;
  FILE          *file;
  char          *line, *rest; /* the present line, and the part of it that is still to be read */
  size_t         linesize;
  long long      lineno;
  int            field, form;
  long long      rows, cols, entries;
  PetscSegBuffer i, j, v; /* the entries, and those that follow from them by symmetry */
  PetscCount     n;
  int            fault; /* a PETSc error code, with its message */
  char           message[PETSC_MAX_PATH_LEN + 256];
} Reader;

static PetscBool Fail(Reader *, const char[], ...) PETSC_ATTRIBUTE_FORMAT(2, 3);

/* Notes what is wrong with the present line, and returns PETSC_FALSE, as all that find fault with it do */
static PetscBool Fail(Reader *r, const char format[], ...)
{
  va_list args;
  size_t  n;

  snprintf(r->message, sizeof(r->message), "%s, line %lld: ", r->filename, r->lineno);
  n = strlen(r->message);
  va_start(args, format);
  vsnprintf(r->message + n, sizeof(r->message) - n, format, args);
  va_end(args);
  r->fault = PETSC_ERR_FILE_UNEXPECTED;
  return PETSC_FALSE;
}

static PetscBool NextLine(Reader *r)
{
  r->lineno++;
  if (getline(&r->line, &r->linesize, r->file) < 0) return PETSC_FALSE;
  r->rest = r->line;
  return PETSC_TRUE;
}

/* Skips comments and blank lines */
static PetscBool NextDataLine(Reader *r)
{
  while (NextLine(r)) {
    r->rest += strspn(r->rest, SPACE);
    if (*r->rest && *r->rest != '%') return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Cuts the next word off the line; NULL at its end */
static char *NextWord(Reader *r)
{
  char *word = r->rest + strspn(r->rest, SPACE);

  r->rest = word + strcspn(word, SPACE);
  if (*r->rest) *r->rest++ = '\0';
  return *word ? word : NULL;
}

static PetscBool EndLine(Reader *r)
{
  const char *word = NextWord(r);

  return word ? Fail(r, "'%.40s' is a word too many", word) : PETSC_TRUE;
}

static PetscBool GetKeyword(Reader *r, const char what[], const char *const list[], int *value)
{
  const char *word    = NextWord(r);
  char        all[80] = "";

  for (int k = 0; list[k]; k++) {
    if (word && !strcasecmp(word, list[k])) {
      *value = k;
      return PETSC_TRUE;
    }
    if (k) strncat(all, ", ", sizeof(all) - strlen(all) - 1);
    strncat(all, list[k], sizeof(all) - strlen(all) - 1);
  }
  return word ? Fail(r, "%s '%.40s' is not one of: %s", what, word, all)
              : Fail(r, "%s is missing, it is one of: %s", what, all);
}

static PetscBool GetInteger(Reader *r, const char what[], long long min, long long max, long long *value)
{
  const char *word = NextWord(r);
  char       *end;

  if (!word) return Fail(r, "%s is missing", what);
  errno  = 0;
  *value = strtoll(word, &end, 10);
  if (*end) return Fail(r, "%s '%.40s' is not an integer", what, word);
  if (errno || *value < min || *value > max) return Fail(r, "%s %.40s is not in %lld ... %lld", what, word, min, max);
  return PETSC_TRUE;
}

static PetscBool GetReal(Reader *r, const char what[], PetscReal *value)
{
  const char *word = NextWord(r);
  char       *end;

  if (!word) return Fail(r, "%s is missing", what);
  *value = (PetscReal)strtod(word, &end);
  if (*end) return Fail(r, "%s '%.40s' is not a number", what, word);
  if (PetscIsInfOrNanReal(*value)) return Fail(r, "%s %.40s is not finite", what, word);
  return PETSC_TRUE;
}

static PetscBool GetValue(Reader *r, PetscScalar *value)
{
  long long integer;
  PetscReal real, imaginary = 0;

  switch (r->field) {
  case FIELD_PATTERN:
    *value = 1;
    return PETSC_TRUE;
  case FIELD_INTEGER:
    if (!GetInteger(r, "value", LLONG_MIN, LLONG_MAX, &integer)) return PETSC_FALSE;
    *value = (PetscReal)integer;
    return PETSC_TRUE;
  case FIELD_COMPLEX:
    if (!GetReal(r, "real part", &real) || !GetReal(r, "imaginary part", &imaginary)) return PETSC_FALSE;
    break;
  default:
    if (!GetReal(r, "value", &real)) return PETSC_FALSE;
  }
#if defined(PETSC_USE_COMPLEX)
  *value = PetscCMPLX(real, imaginary);
#else
  *value = real;
#endif
  return PETSC_TRUE;
}

static PetscBool ReadBanner(Reader *r)
{
  int k;

  if (!NextLine(r)) return Fail(r, "%s", ferror(r->file) ? strerror(errno) : "the file is empty");
  if (!GetKeyword(r, "banner", Banners, &k) || !GetKeyword(r, "object", Objects, &k) ||
      !GetKeyword(r, "format", Formats, &k))
    return PETSC_FALSE;
  if (!GetKeyword(r, "field", Fields, &r->field) || !GetKeyword(r, "symmetry", Forms, &r->form) || !EndLine(r))
    return PETSC_FALSE;
  if (r->field == FIELD_COMPLEX && !PetscDefined(USE_COMPLEX))
    return Fail(r, "a complex matrix needs a PETSc with complex scalars");
  if (r->field != FIELD_COMPLEX && r->form == FORM_HERMITIAN)
    return Fail(r, "a hermitian matrix must be complex, not %s", Fields[r->field]);
  if (r->field == FIELD_PATTERN && r->form == FORM_SKEW) return Fail(r, "a pattern cannot be skew-symmetric");
  return PETSC_TRUE;
}

static PetscBool ReadSizes(Reader *r)
{
  if (!NextDataLine(r)) return Fail(r, "the file ends before its number of rows, columns and entries");
  if (!GetInteger(r, "number of rows", 1, MAX_INDEX, &r->rows) ||
      !GetInteger(r, "number of columns", 1, MAX_INDEX, &r->cols))
    return PETSC_FALSE;
  if (!GetInteger(r, "number of entries", 0, LLONG_MAX, &r->entries) || !EndLine(r)) return PETSC_FALSE;
  if (r->form != FORM_GENERAL && r->rows != r->cols)
    return Fail(r, "a %s matrix must be square, not %lld by %lld", Forms[r->form], r->rows, r->cols);
  return PETSC_TRUE;
}

static PetscBool ReadEntry(Reader *r, long long *i, long long *j, PetscScalar *v)
{
  if (!GetInteger(r, "row index", 1, r->rows, i) || !GetInteger(r, "column index", 1, r->cols, j) || !GetValue(r, v) ||
      !EndLine(r))
    return PETSC_FALSE;
  if (r->form != FORM_GENERAL && *i < *j)
    return Fail(r, "entry (%lld,%lld) is above the diagonal of a %s matrix", *i, *j, Forms[r->form]);
  if (r->form == FORM_SKEW && *i == *j)
    return Fail(r, "entry (%lld,%lld) is on the diagonal of a skew-symmetric matrix", *i, *j);
  if (r->form == FORM_HERMITIAN && *i == *j && PetscImaginaryPart(*v) != 0)
    return Fail(r, "entry (%lld,%lld) is on the diagonal of a hermitian matrix and not real", *i, *j);
  return PETSC_TRUE;
}

static PetscErrorCode Append(Reader *r, long long i, long long j, PetscScalar v)
{
  PetscInt    *row, *col;
  PetscScalar *value;

  PetscFunctionBeginUser;
  PetscCall(PetscSegBufferGet(r->i, 1, &row));
  PetscCall(PetscSegBufferGet(r->j, 1, &col));
  PetscCall(PetscSegBufferGet(r->v, 1, &value));
  *row   = (PetscInt)(i - 1);
  *col   = (PetscInt)(j - 1);
  *value = v;
  r->n++;
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadEntries(Reader *r)
{
  long long   i = 0, j = 0;
  PetscScalar v = 0;

  PetscFunctionBeginUser;
  for (long long k = 0; k < r->entries; k++) {
    const PetscBool good = NextDataLine(r) ? ReadEntry(r, &i, &j, &v)
                                           : Fail(r, "the file ends after %lld of %lld entries", k, r->entries);

    if (!good) PetscFunctionReturn(0);
    PetscCall(Append(r, i, j, v));
    if (i == j || r->form == FORM_GENERAL) continue;
    if (r->form == FORM_SKEW) v = -v;
    if (r->form == FORM_HERMITIAN) v = PetscConj(v);
    PetscCall(Append(r, j, i, v));
  }
  if (NextDataLine(r)) Fail(r, "more than the %lld entries announced", r->entries);
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadFile(Reader *r)
{
  PetscFunctionBeginUser;
  r->file = fopen(r->filename, "r");
  if (!r->file) {
    snprintf(r->message, sizeof(r->message), "%s: %s", r->filename, strerror(errno));
    r->fault = PETSC_ERR_FILE_OPEN;
    PetscFunctionReturn(0);
  }
  if (ReadBanner(r) && ReadSizes(r)) PetscCall(ReadEntries(r));
  free(r->line);
  fclose(r->file);
  PetscFunctionReturn(0);
}

/*
  MatrixMarketLoad - Reads a sparse matrix from a file in Matrix Market's coordinate format

  Collective

  Input Parameters:
+ comm     - the processes to spread the rows over
- filename - the file, which only the first process opens

  Output Parameter:
. A - the matrix, of type `MATAIJ` unless `-mat_type` says otherwise

  Notes:
  Entries given twice are added up, a pattern is filled with ones, and nothing is put where the file has nothing, on
  the diagonal neither.

  What is wrong with a file becomes the same error, which names the file and the line, on all processes.
*/
PetscErrorCode MatrixMarketLoad(MPI_Comm comm, const char filename[], Mat *A)
{
  Reader       r = {0};
  PetscMPIInt  rank;
  PetscInt    *i = NULL, *j = NULL;
  PetscScalar *v = NULL;

  PetscFunctionBeginUser;
  r.filename = filename;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    PetscCall(PetscSegBufferCreate(sizeof(*i), 1024, &r.i));
    PetscCall(PetscSegBufferCreate(sizeof(*j), 1024, &r.j));
    PetscCall(PetscSegBufferCreate(sizeof(*v), 1024, &r.v));
    PetscCall(ReadFile(&r));
    PetscCall(PetscSegBufferExtractAlloc(r.i, &i));
    PetscCall(PetscSegBufferExtractAlloc(r.j, &j));
    PetscCall(PetscSegBufferExtractAlloc(r.v, &v));
    PetscCall(PetscSegBufferDestroy(&r.i));
    PetscCall(PetscSegBufferDestroy(&r.j));
    PetscCall(PetscSegBufferDestroy(&r.v));
  }
  PetscCallMPI(MPI_Bcast(&r.fault, 1, MPI_INT, 0, comm));
  PetscCallMPI(MPI_Bcast(r.message, sizeof(r.message), MPI_CHAR, 0, comm));
  PetscCallMPI(MPI_Bcast(&r.rows, 1, MPI_LONG_LONG, 0, comm));
  PetscCallMPI(MPI_Bcast(&r.cols, 1, MPI_LONG_LONG, 0, comm));
  if (r.fault) {
    PetscCall(PetscFree(i));
    PetscCall(PetscFree(j));
    PetscCall(PetscFree(v));
  }
  PetscCheck(!r.fault, comm, (PetscErrorCode)r.fault, "%s", r.message);

  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)r.rows, (PetscInt)r.cols));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetPreallocationCOO(*A, r.n, i, j));
  PetscCall(MatSetValuesCOO(*A, v, INSERT_VALUES));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(j));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(0);
}
