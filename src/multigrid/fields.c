/*
   The fields of a matrix with several unknowns of a point and no near null space: whether an aggregate has unknowns of
   one field or of all, and whether coarse levels represent a constant on each field
*/
#include "hierarchy.h"
#include <petsc/private/petscimpl.h>

/* Set-up takes constants on fields if the norm of the entries between fields is at least this part of the norm of those
   within fields, without the diagonal, and A annihilates these constants */
static const double strong = 0.1, annihilated = 0.25; /* largest Couplings.left */
/*
   Set-up calls fields dependent if the norm of the entries between them is at least twice that of the diagonal, as in
   the two equations of Cahn and Hilliard, which second derivatives couple. A definite Hermitian matrix with ones on its
   diagonal has no such fields if its largest eigenvalue is below 5: the square of that eigenvalue bounds (A^2)_ii, the
   sum of the squares of row i. If A is not Hermitian, as with the real and the imaginary part of a shift, set-up takes
   constants on fields from half of the norm of the diagonal on, even if A does not annihilate them
*/
static const double dependent = 2, needed = 0.5;
/*
   Fields share aggregates if many rows are bound to other fields, see BAIFieldLookAt(), or some of them and constants
   on fields are not taken. The sum of the products of the norms of the entries between two fields must be at least this
   part of the sum of their squares; otherwise one field follows another one, or reacts at another rate
*/
static const double many = 0.9, some = 0.02, balanced = 0.5;

/* Adds up over all ranks what the rows of each field show; points has the weights of the fields. Collective */
static PetscErrorCode Look(BAI *bai, Mat A, BAIPoints *points, BAIFieldLook look[])
{
  const PetscMPIInt numbers = (PetscMPIInt)(points->fields * (int)(sizeof(*look) / sizeof(double)));
  BAIBackend        backend = bai->options.backend;
  BAIMatrix         M       = {.n = 0};
  BAIStatus         status  = BAIStatusOf(BAI_OK);
  Mat               Ad, Ao;
  PetscInt          nghost;
  const PetscInt   *garray;
  PetscBool         on_device;
  PetscErrorCode    code;
  int               device = 0;
  void             *stream = NULL;

  PetscFunctionBegin;
  PetscCall(BAIGetParts(bai->obj, A, &Ad, &Ao, &nghost, &garray));
  PetscCall(BAIGetNode(bai, PetscObjectComm((PetscObject)A)));
  if (backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, &backend));
  code = BAIGetMatrix(backend, Ad, Ao, nghost, &M, &on_device);
  if (!code && M.memory == BAI_MEMORY_DEVICE) code = BAIGetDevice(bai->node.rank, &device, &stream);
  points->ghost = (const BAIInt *)garray;
  if (!code)
    status = BAILevelsLookAtFields(M.memory == BAI_MEMORY_DEVICE ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST, &M, points,
                                   device, stream, look);
  if (M.B.i) PetscCall(BAIRestoreRows(backend, Ao, &(BAICSR){M.B.i, M.B.j, M.B.a}));
  if (M.A.i) PetscCall(BAIRestoreRows(backend, Ad, &(BAICSR){M.A.i, M.A.j, M.A.a}));
  if (!code) code = BAICheckStatus(bai, status);
  PetscCall(BAIAgree(bai, code, NULL));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, look, numbers, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The couplings of fields in units in which the mean diagonal entries of all fields are 1 */
typedef struct {
  double diagonal;        /* sum of the squares of the diagonal entries */
  double within, between; /* of the other entries within fields and between different fields */
  double mutual;          /* of the products of the norms of the entries from one field to another one and back */
  double left;            /* mean of |(A w)_i| / (|a_ii| w_i) for constants w on a field */
} Couplings;

/* Computes the couplings from what the rows show; w are constants that have the inverse units */
static PetscErrorCode Couple(Mat A, PetscInt fields, const BAIFieldLook look[], const double w[], Couplings *c)
{
  PetscInt n;

  PetscFunctionBegin;
  *c = (Couplings){.within = 0};
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt g = 0; g < fields; g++) {
    c->diagonal += look[g].diagonal2 * w[g] * w[g] * w[g] * w[g];
    for (PetscInt f = 0; f < fields; f++) {
      const double square = look[g].square[f] * w[f] * w[f] * w[g] * w[g];

      *(f == g ? &c->within : &c->between) += square;
      if (f != g) c->mutual += sqrt(square) * sqrt(look[f].square[g]) * w[f] * w[g];
      if (fields <= BAI_LEVELS_MODES) c->left += look[g].left[f] * w[f] / w[g] / ((double)n * (double)fields);
    }
  }
  c->within -= c->diagonal;
  PetscCall(PetscInfo(A,
                      "Norm of couplings between fields over couplings within: %g, in both directions over the "
                      "diagonal: %g; mean of |(A w)_i|/(|a_ii| w_i) for constants w on a field: %g\n",
                      sqrt(c->between / c->within), sqrt(c->mutual / c->diagonal), c->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether fields depend on each other. That does not change if the equations and the unknowns of a field get other
   units, as both directions are looked at */
static PetscBool Depend(const Couplings *c, double least)
{
  return (PetscBool)(c->mutual > 0 && c->mutual >= least * least * c->diagonal);
}

/* Finds how set-up treats the fields of A, and whether they depend on each other. The constants on fields that it looks
   at are 1, and then w, the inverse square root of the mean diagonal entry of the field. Collective */
static PetscErrorCode Examine(BAI *bai, Mat A, PetscInt fields, BAIFieldsUse *use, PetscBool *depend)
{
  BAIPoints    points = {.fields = (int)fields, .longest = BAI_LONGEST_ROW};
  BAIFieldLook look[BAI_LEVELS_FIELDS], scaled[BAI_LEVELS_FIELDS];
  double       w[BAI_LEVELS_FIELDS], least = PETSC_INFINITY, most = 0, rows[2] = {0, 0};
  Couplings    c = {.within = 0};
  double       bound;
  PetscBool    mutual, few, modes, hermitian, points_given;
  PetscInt     n;

  PetscFunctionBegin;
  *use    = fields > BAI_LEVELS_FIELDS ? BAI_FIELDS_TOGETHER : BAI_FIELDS_APART;
  *depend = PETSC_FALSE;
  if (fields > BAI_LEVELS_FIELDS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt f = 0; f < fields; f++) points.weight[f] = 1;
  PetscCall(Look(bai, A, &points, look));
  for (PetscInt f = 0; f < fields; f++) {
    w[f]  = look[f].diagonal > 0 ? 1 / sqrt(look[f].diagonal * (double)fields / (double)n) : 1;
    least = PetscMin(least, w[f]);
    most  = PetscMax(most, w[f]);
    rows[0] += look[f].bound;
  }
  if (most > least) {
    for (PetscInt f = 0; f < fields; f++) points.weight[f] = (BAIReal)(w[f] / most);
    PetscCall(Look(bai, A, &points, scaled));
    for (PetscInt f = 0; f < fields; f++) rows[1] += scaled[f].bound;
  }
  PetscCall(PetscInfo(A, "%g of %" PetscInt_FMT " rows are bound to other fields\n", PetscMax(rows[0], rows[1]), n));
  PetscCall(Couple(A, fields, look, w, &c));
  if (PetscIsInfOrNanReal((PetscReal)c.diagonal) || PetscIsInfOrNanReal((PetscReal)(c.mutual + c.between)))
    PetscFunctionReturn(PETSC_SUCCESS); /* squares overflow, or an entry is not finite */
  bound   = PetscMax(rows[0], rows[1]) / (double)n;
  mutual  = (PetscBool)(c.mutual >= balanced * c.between);
  few     = (PetscBool)(fields <= BAI_LEVELS_MODES);
  *depend = (PetscBool)(few && Depend(&c, dependent));
  PetscCall(BAIAggregatesHavePoints(bai, fields, &points_given));
  modes = (PetscBool)(few && points_given);
  if (*depend && modes) *use = BAI_FIELDS_CONSTANTS;
  else if (mutual && bound >= many) *use = BAI_FIELDS_TOGETHER;
  else if (modes && c.between > 0 && c.between >= strong * strong * c.within && c.left <= annihilated)
    *use = BAI_FIELDS_CONSTANTS;
  else if (mutual && bound >= some) *use = BAI_FIELDS_TOGETHER;
  else if (modes && Depend(&c, needed)) {
    PetscCall(BAILooksHermitian(A, &hermitian));
    if (!hermitian) *use = BAI_FIELDS_CONSTANTS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does Examine() for the scaled matrix. Collective */
static PetscErrorCode ExamineScaled(BAI *bai, Mat A, PetscInt fields, BAIFields *f)
{
  Mat scaled;

  PetscFunctionBegin;
  PetscCall(BAIScalingGetMatrix(&bai->hierarchy->scaling, A, &scaled));
  PetscCall(Examine(bai, scaled, fields, &f->use, &f->dependent));
  f->scaled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AreTreatedAlike(const BAIFields *a, const BAIFields *b)
{
  return (PetscBool)(a->use == b->use && a->dependent == b->dependent);
}

/* Finds how set-up treats the fields of the scaled matrix, instead of those of A, as units may hide how they are
   coupled. changed, unless it is NULL, is whether it treated them otherwise before. Collective */
PetscErrorCode BAIFieldsFindScaled(BAI *bai, Mat A, PetscBool *changed)
{
  BAIFields *f = &bai->hierarchy->fields, now = *f;

  PetscFunctionBegin;
  if (f->looked) PetscCall(ExamineScaled(bai, A, f->unknowns.count, &now));
  if (changed) *changed = (PetscBool)!AreTreatedAlike(&now, f);
  *f = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds how set-up treats the fields of a matrix, unless that has been done for its present values, and whether that
   has changed. given is the user's matrix, A its copy of type aij. If there is a scaling, the scaled matrix is looked
   at, and only if its fields are to be treated otherwise A itself, as set-up then drops the scaling. A transposed
   operator takes the result of the original one. Collective */
PetscErrorCode BAIFieldsFind(BAI *bai, Mat given, Mat A, PetscBool *changed)
{
  const BAIHierarchy h   = bai->hierarchy;
  BAIFields         *f   = &h->fields;
  BAIFields          now = {.use = BAI_FIELDS_APART, .unknowns = f->unknowns};
  PetscBool          one, same, kept, agreed[2];
  MatNullSpace       space;
  PetscInt           fields;

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  PetscCall(BAIVersionOf((PetscObject)given, &now.of));
  PetscCall(MatGetNearNullSpace(given, &space));
  PetscCall(BAIFindPoints(bai, given, A, &now.unknowns));
  fields      = now.unknowns.count;
  f->unknowns = now.unknowns;
  PetscCall(BAIInterleave(h, A, &A));
  one       = (PetscBool)(space || fields == 1 || h->chip);
  kept      = (PetscBool)(f->scaled && h->ready && now.of.id == h->of.id);
  same      = (PetscBool)(f->looked && !one && now.of.id == f->of.id && now.of.state == f->of.state);
  agreed[0] = kept;
  agreed[1] = (PetscBool)(same && kept == f->scaled);
  if (f->looked || f->scaled)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, agreed, 2, BAI_MPI_BOOL, MPI_LAND, PetscObjectComm(bai->obj)));
  if (agreed[1]) PetscFunctionReturn(PETSC_SUCCESS);
  kept      = agreed[0];
  f->looked = PETSC_FALSE; /* also after an error */
  if (!one && bai->origin) {
    now.use       = bai->origin->hierarchy->fields.use;
    now.dependent = bai->origin->hierarchy->fields.dependent;
    now.scaled    = bai->origin->hierarchy->fields.scaled;
  } else if (!one) {
    if (kept) PetscCall(ExamineScaled(bai, A, fields, &now));
    if (!kept || !AreTreatedAlike(&now, f)) {
      PetscCall(Examine(bai, A, fields, &now.use, &now.dependent));
      now.scaled = PETSC_FALSE;
    }
    now.looked = PETSC_TRUE;
  }
  *changed = (PetscBool)(!AreTreatedAlike(&now, f) || now.scaled != f->scaled);
  *f       = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}
