/* A Mat for the engine: checks, a copy if its type is not aij, its parts, and their arrays */
#include "baiimpl.h"

PetscErrorCode BAIVersionOf(PetscObject obj, BAIVersion *version)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId(obj, &version->id));
  PetscCall(PetscObjectStateGet(obj, &version->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BAIVersionsEqual(BAIVersion a, BAIVersion b)
{
  return (PetscBool)(a.id == b.id && a.state == b.state);
}

/* Finds whether the matrix, or its values, differ from the known version, or must be treated so anyway, and updates
   known. All ranks return the same result */
PetscErrorCode BAITakeValues(const BAI *bai, Mat A, PetscBool anyway, BAIVersion *known, PetscBool *others)
{
  BAIVersion now;

  PetscFunctionBegin;
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  *others = (PetscBool)(anyway || !BAIVersionsEqual(now, *known));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, others, 1, BAI_MPI_BOOL, MPI_LOR, PetscObjectComm(bai->obj)));
  *known = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAICheckAssembled(PetscObject obj, Mat A)
{
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatAssembled(A, &assembled));
  PetscCheck(assembled, PetscObjectComm(obj), PETSC_ERR_ARG_WRONGSTATE, "Matrix is not assembled");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error on all ranks unless A is assembled, and square as a whole and on each rank. Collective */
PetscErrorCode BAICheckMatrix(PetscObject obj, Mat A)
{
  PetscInt M, N, m, n, unlike[2] = {0, 0}, most[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " rows and %" PetscInt_FMT " columns: must be square", M, N);
  if (m != n) {
    unlike[0] = m + 1;
    unlike[1] = n + 1;
  }
  PetscCallMPI(MPI_Allreduce(unlike, most, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(!most[0], PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " local rows and %" PetscInt_FMT
             " local columns on a rank: numbers must be equal",
             most[0] - 1, most[1] - 1);
  PetscCall(BAICheckAssembled(obj, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error on all ranks for the first bad row of the whole matrix, which may be one of many constraints, if the
   status of any rank is BAI_ERR_DIAGONAL; status.row is local. If finite is not NULL, it is set if there is such a row,
   and a diagonal entry that is infinite or NaN is reported there instead */
PetscErrorCode BAICheckDiagonal(const BAI *bai, Mat A, BAIStatus status, PetscBool *finite)
{
  const PetscObject obj = bai->obj;
  PetscInt          none, first, mine, row, start, count;
  PetscScalar       value;
  PetscReal         size   = 0.0, largest;
  const char *const prefix = BAIPrefixOf(bai->obj);
  IS                zeros;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &none, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  first = start + (PetscInt)status.row;
  mine  = status.code == BAI_ERR_DIAGONAL ? first : none;
  PetscCallMPI(MPI_Allreduce(&mine, &row, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (row == none) PetscFunctionReturn(PETSC_SUCCESS);
  if (row == mine) {
    PetscCall(MatGetValues(A, 1, &first, 1, &first, &value));
    size = PetscIsNanScalar(value) ? (PetscReal)INFINITY : PetscAbsScalar(value); /* NaN counts as infinite */
  }
  PetscCallMPI(MPI_Allreduce(&size, &largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  if (finite) {
    *finite = (PetscBool)!PetscIsInfOrNanReal(largest);
    if (!*finite) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(largest == 0.0, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " of the matrix has a diagonal entry of magnitude %g, by which one cannot divide: "
             "block-asynchronous iteration needs 1/a_ii to be finite",
             row, (double)largest);
  PetscCall(MatFindZeroDiagonals(A, &zeros));
  PetscCall(ISGetSize(zeros, &count));
  PetscCall(ISDestroy(&zeros));
  SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
          "Row %" PetscInt_FMT
          " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it. "
          "Such rows: %" PetscInt_FMT " of %" PetscInt_FMT ". If these are constraints, as of the pressure in a "
          "flow, use PCFIELDSPLIT, with this solver for the other unknowns: -%sksp_type gmres -%spc_type fieldsplit "
          "-%spc_fieldsplit_type schur -%spc_fieldsplit_detect_saddle_point -%sfieldsplit_0_pc_type baimg. Otherwise "
          "use a direct solver: -%spc_type lu",
          row, count, none, prefix, prefix, prefix, prefix, prefix, prefix);
}

/* Creates a copy of type aij. A MATMPIBAIJ is duplicated first, as the conversion of PETSc 3.18 disassembles its
   off-diagonal part, which others may reference, such as MatFDColoring */
static PetscErrorCode Copy(Mat A, Mat *aij)
{
  PetscBool is;
  Mat       duplicate;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIBAIJ, &is));
  if (!is) {
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, aij));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &duplicate));
  PetscCall(MatConvert(duplicate, MATAIJ, MAT_INITIAL_MATRIX, aij));
  PetscCall(MatDestroy(&duplicate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is of one of the types whose entries are accessible: aij, baij and sbaij */
PetscErrorCode BAIHasEntries(Mat A, PetscBool *has)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, has, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ,
                                          MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets A itself or, if it is of type baij or sbaij, a copy of its present state of type aij, which bai keeps as long as
   A does not change */
PetscErrorCode BAIConvert(BAI *bai, Mat A, Mat *aij)
{
  MatType      type;
  MatNullSpace space;
  BAIVersion   now;
  PetscBool    is;

  PetscFunctionBegin;
  *aij = A;
  /* not all releases define names of these types */
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, "seqaijhipsparse", "mpiaijhipsparse", ""));
  PetscCall(MatGetType(A, &type));
  PetscCheck(!is, PetscObjectComm(bai->obj), PETSC_ERR_SUP,
             "Matrix type %s: block-asynchronous iteration runs on the host and on NVIDIA GPUs only; see MatConvert() "
             "and -mat_type aij",
             type);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckAssembled(bai->obj, A));
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  if (!bai->aij || !BAIVersionsEqual(now, bai->of_aij)) {
    PetscCall(PetscInfo(bai->obj, "Matrix type %s: copied to type aij\n", type));
    if (bai->relax.A == bai->aij) {
      PetscCall(MatDestroy(&bai->relax.A));
      PetscCall(MatDestroy(&bai->relax.refinement.fixed));
    }
    /* Not reused, as the nonzero state of these types does not always show a new pattern */
    PetscCall(MatDestroy(&bai->aij));
    PetscCall(Copy(A, &bai->aij));
    /* The conversion may have increased the state, although values did not change */
    PetscCall(PetscObjectStateSet((PetscObject)A, now.state));
    bai->of_aij = now;
  }
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(MatSetNullSpace(bai->aij, space));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatSetNearNullSpace(bai->aij, space));
  *aij = bai->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the square part of A's local rows and, on several ranks, the couplings to columns of other ranks, whose numbers
   are in garray */
PetscErrorCode BAIGetParts(PetscObject obj, Mat A, Mat *Ad, Mat *Ao, PetscInt *nghost, const PetscInt *garray[])
{
  PetscBool seq, mpi;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCheck(seq || mpi, PetscObjectComm(obj), PETSC_ERR_SUP,
             "Matrix type %s: block-asynchronous iteration needs the entries of a matrix of type aij, aijcusparse, "
             "baij or sbaij; see MatConvert() and -mat_type. Krylov methods of KSPBAI take any Amat",
             type);
  *Ad     = A;
  *Ao     = NULL;
  *nghost = 0;
  *garray = NULL;
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, Ad, Ao, garray));
    PetscCall(MatGetSize(*Ao, NULL, nghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the rows of a part on the host, with values or only the pattern */
PetscErrorCode BAIGetHostRows(Mat A, PetscBool values, BAICSR *csr)
{
  PetscInt  n;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(
    MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot get the rows of the matrix on the host");
  csr->a = NULL;
  if (values) PetscCall(MatSeqAIJGetArrayRead(A, (const PetscScalar **)&csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIRestoreHostRows(Mat A, BAICSR *csr)
{
  PetscInt  n;
  PetscBool done;

  PetscFunctionBegin;
  if (csr->a) PetscCall(MatSeqAIJRestoreArrayRead(A, (const PetscScalar **)&csr->a));
  PetscCall(
    MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the rows of a part in memory that the backend can read, and whether that is on a device; see BAIRestoreRows() */
static PetscErrorCode GetRows(BAIBackend backend, Mat A, BAICSR *csr, PetscBool *device)
{
  PetscScalar *a;
  PetscMemType memtype;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  if (backend == BAI_BACKEND_HOST) PetscCall(BAIGetHostRows(A, PETSC_TRUE, csr));
  else {
    PetscCall(BAIGetCSR(A, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &a, &memtype));
    *device = (PetscBool)PetscMemTypeDevice(memtype);
    csr->a  = (const BAIScalar *)a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the arrays of this rank's rows, and whether they are on a device; Ao has the couplings to nghost ghosts.
   BAIRestoreRows() restores those of Ad and Ao */
PetscErrorCode BAIGetMatrix(BAIBackend backend, Mat Ad, Mat Ao, PetscInt nghost, BAIMatrix *M, PetscBool *device)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  *M = (BAIMatrix){.n = (BAIInt)n, .nghost = (BAIInt)nghost};
  PetscCall(GetRows(backend, Ad, &M->A, device));
  if (nghost) PetscCall(GetRows(backend, Ao, &M->B, device));
  M->memory = *device ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Restores the arrays of a part that BAIGetMatrix() has got */
PetscErrorCode BAIRestoreRows(BAIBackend backend, Mat A, BAICSR *csr)
{
  PetscFunctionBegin;
  if (backend == BAI_BACKEND_HOST) PetscCall(BAIRestoreHostRows(A, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend that auto stands for: host or device, where the matrix is */
PetscErrorCode BAIBackendOf(Mat Ad, BAIBackend *backend)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(Ad, NULL, NULL, NULL, &memtype));
  *backend = PetscMemTypeCUDA(memtype) ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a copy of A, of type aij, whose products on a rank have the same bits each time. By default cuSPARSE adds up
   the parts of long rows in any order. Collective */
PetscErrorCode BAIDuplicateFixed(PetscObject obj, Mat A, Mat *B)
{
  Mat             part[2];
  PetscInt        nghost;
  const PetscInt *garray;
  PetscOptions    fixed;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(BAIGetParts(obj, *B, &part[0], &part[1], &nghost, &garray));
  PetscCall(PetscOptionsCreate(&fixed));
  PetscCall(PetscOptionsSetValue(fixed, "-mat_cusparse_spmv_alg", "CSRMV_ALG2"));
  for (int k = 0; k < 2; k++) {
    PetscOptions options;

    if (!part[k]) continue;
    PetscCall(MatSetOptionsPrefix(part[k], NULL));
    PetscCall(PetscObjectGetOptions((PetscObject)part[k], &options));
    PetscCall(PetscObjectSetOptions((PetscObject)part[k], fixed));
    PetscCall(MatSetFromOptions(part[k]));
    PetscCall(PetscObjectSetOptions((PetscObject)part[k], options));
    PetscCall(MatSetOption(part[k], MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE)); /* others vary */
  }
  PetscCall(PetscOptionsDestroy(&fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cuSPARSE may multiply with A in another order each time, by adding three numbers or more: it divides rows of
   more than 224 entries into three parts, in CUDA 13.0, and others into two, which on several ranks are added to the
   product with the other part of A. Collective */
static PetscErrorCode MayVary(PetscObject obj, Mat A, PetscBool *may)
{
  enum {
    LONG_ROW = 64
  };
  Mat             part[2];
  PetscInt        nghost;
  const PetscInt *garray;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, may, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (!*may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIGetParts(obj, A, &part[0], &part[1], &nghost, &garray));
  *may = (PetscBool)(nghost > 0);
  for (int k = 0; k < 2; k++) {
    PetscInt longest = 0;

    if (part[k]) PetscCall(MatSeqAIJGetMaxRowNonzeros(part[k], &longest));
    *may = (PetscBool)(*may || longest > LONG_ROW);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, may, 1, BAI_MPI_BOOL, MPI_LOR, PetscObjectComm(obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets a matrix equal to A, whose products on a rank have the same bits each time: A itself, or a copy by
   BAIDuplicateFixed() if products with A may vary. The caller must not change it, and destroys it. Collective */
PetscErrorCode BAIReferenceFixed(PetscObject obj, Mat A, Mat *B)
{
  PetscBool may;

  PetscFunctionBegin;
  PetscCall(MayVary(obj, A, &may));
  if (may) PetscCall(BAIDuplicateFixed(obj, A, B));
  else {
    PetscCall(PetscObjectReference((PetscObject)A));
    *B = A;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether v^H S A S u = (S A S v)^H u up to rounding, for a pseudorandom vector u and v, its entries squared. S makes
   the diagonal 1, so that large rows, as of boundary conditions, do not hide the others */
PetscErrorCode BAILooksHermitian(Mat A, PetscBool *is)
{
  Vec         s, u, v, Au, Av;
  PetscScalar one, two;
  PetscReal   scale, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &u, &Au));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(VecDuplicate(u, &s));
  PetscCall(VecDuplicate(Au, &Av));
  PetscCall(MatGetDiagonal(A, s));
  PetscCall(VecAbs(s));
  PetscCall(BAIVecSet(s, BAI_SET_INVERSE_ROOT));
  PetscCall(BAIVecSet(u, BAI_SET_NOISE));
  PetscCall(VecPointwiseMult(v, u, u));
  PetscCall(VecNorm(v, NORM_2, &norm));
  PetscCall(VecPointwiseMult(u, s, u));
  PetscCall(VecPointwiseMult(v, s, v));
  PetscCall(MatMult(A, u, Au));
  PetscCall(MatMult(A, v, Av));
  PetscCall(VecDot(Au, v, &one));
  PetscCall(VecDot(u, Av, &two));
  PetscCall(VecPointwiseMult(Au, s, Au));
  PetscCall(VecNorm(Au, NORM_2, &scale));
  *is = (PetscBool)(PetscAbsScalar(one - two) <= (PetscReal)BAI_SUM_ROUNDING * scale * norm);
  PetscCall(VecDestroy(&s));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Au));
  PetscCall(VecDestroy(&Av));
  PetscFunctionReturn(PETSC_SUCCESS);
}
