/* The data of a KSPBAI, and its methods */
#pragma once

#include "../../multigrid/hierarchy.h"
#include "../../common/krylov_rules.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

/* The runner: who does the iterations; BAI_BY_RELAXATION before the first set-up */
typedef enum {
  BAI_BY_RELAXATION, /* block-asynchronous iteration, see relaxation.c */
  BAI_BY_CHIP,       /* a Krylov method in one launch, preconditioned by local sweeps in blocks, see kspsolve.c */
  BAI_BY_LEVELS,     /* conjugate gradients of the engine, preconditioned by the cycle of a PCBAIMG, see kspsolve.c */
  BAI_BY_PETSC       /* a KSP of PETSc, preconditioned by the PC, see inner.c */
} BAIRunner;

/* Everything that a set-up depends on. A solve skips set-up if it is unchanged. It is compared byte by byte */
typedef struct {
  PetscObjectId    pc, A, P, nullspace;
  PetscObjectState state;
  PetscInt64       change, mg_change; /* BAI.change of the KSP and of a PCBAIMG */
  KSPNormType      norm, norm_set;
  /* the convergence test is KSPConvergedSkip(); the solve is transposed; A is bound to the host */
  PetscBool skips, transposed, bound;
} KSPBAISetting;

typedef struct {
  /* first member, as code shared with the PCs expects; its hierarchy is the matrix on the chip, without levels */
  BAI           bai;
  BAI          *mg; /* data of the PC at the last set-up if it was a PCBAIMG, otherwise NULL */
  BAIRunner     runner;
  KSPBAISetting setting;  /* setting of the last set-up; zeros if the next solve must set up */
  BAIMethod     method;   /* method in use, never auto */
  char          why[128]; /* reason for the method */
  PetscBool     pc_given; /* -pc_type was given when options were last read; it may have left the database since */
  PetscBool     has_pc;   /* the type of the PC is known to be chosen or not; later types count as chosen */
  PetscBool     chose;    /* the PC is a PCBAIMG, as no other type was chosen */
  PetscBool     none;     /* the PC is a PCNONE instead, as the matrix has no entries */

  PetscBool  transposed; /* the solve is with A^T, which differs from A */
  Mat        At;         /* transposed matrix for relaxation in KSPSolveTranspose() */
  BAIVersion of_At;

  /* Krylov methods */
  KSP        inner;      /* for BAI_BY_PETSC, otherwise NULL */
  PetscBool  inside;     /* inner is solving */
  BAIKrylov  krylov;     /* Krylov method in use, never auto */
  BAIVersion found;      /* version of the matrix that the next four fields belong to */
  PetscBool  off_chip;   /* the solve on the chip breaks down */
  PetscBool  indefinite; /* the matrix or the preconditioner is not positive definite */
  PetscBool  breaks;     /* BiCGStab breaks down */
  PetscBool3 hermitian;  /* result of a random test of the matrix */
  Vec        weights;    /* 1/|a_ii|, or 0 if a_ii is zero */
  BAIVersion of_weights;
  Vec        scaled; /* b times scale */
  PetscReal  scale;  /* power of two if squares of norms would be out of range, otherwise 1 */
  PetscBool  zero;   /* this solve began with a zero guess */
  PetscBool  grows;  /* in this solve ||b - A x|| may be any number of times ||b||, see KSPBAIMayGrow() */

  /* The end of the last solve */
  PetscBool stands;     /* rounding prevented progress */
  PetscReal attainable; /* residual norm that rounding allows */
  PetscBool stalls;     /* the smallest residual norm of many iterations hardly fell */
} KSP_BAI;

/* Gets the data of the PC if it is a PCBAIMG, otherwise NULL */
static inline PetscErrorCode KSPBAIGetMG(KSP ksp, BAI **mg)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCBAIMG, &is));
  *mg = is ? (BAI *)ksp->pc->data : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data whose hierarchy does the iterations of the engine, or NULL */
static inline BAI *KSPBAIGetOwner(KSP_BAI *k)
{
  return k->runner == BAI_BY_CHIP ? &k->bai : k->runner == BAI_BY_LEVELS ? k->mg : NULL;
}

/* b of the system in progress: the user's, or a scaled copy if squares of its norms would be out of range */
static inline Vec KSPBAIRhs(KSP ksp)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  return k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
}

/* Whether the number of iterations is fixed, and no residual norm is needed */
static inline PetscBool KSPBAIIsFixed(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);
}

/* Whether monitors or the convergence test may access x whenever there is a residual norm */
static inline PetscBool KSPBAISeesX(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* Whether the user monitors, records or tests the residual norm of every iteration */
static inline PetscBool KSPBAIIsWatched(KSP ksp)
{
  return (PetscBool)(ksp->res_hist || KSPBAISeesX(ksp) || BAIMinimumIterations(ksp) > 0);
}

/* Whether max_it iterations count as convergence, see KSPConvergedDefaultSetConvergedMaxits() */
static inline PetscBool KSPBAITakesMaxIts(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedDefault && ksp->cnvP &&
                     ((KSPConvergedDefaultCtx *)ksp->cnvP)->convmaxits);
}

/*
   Whether D^-1 (b - A x) is tested besides b - A x, so that rows of a larger scale, such as rows of boundary
   conditions, do not hide the others. A norm or a convergence test that the user has set is used alone
*/
static inline PetscBool KSPBAITestsTwice(KSP ksp)
{
  const KSPConvergedDefaultCtx *test = (KSPConvergedDefaultCtx *)ksp->cnvP;

  return (PetscBool)(ksp->normtype_set == KSP_NORM_DEFAULT && ksp->converged == KSPConvergedDefault && test &&
                     !test->initialrtol && !test->mininitialrtol);
}

/* Whether the user has set another norm than ||b - A x|| */
static inline PetscBool KSPBAINamesNorm(KSP ksp)
{
  return (PetscBool)(ksp->normtype_set == KSP_NORM_PRECONDITIONED || ksp->normtype_set == KSP_NORM_NATURAL);
}

/* Whether a method needs a positive definite matrix and preconditioner; then the PC is on the left, and the norm may be
   any */
static inline PetscBool KSPBAIIsPositive(BAIKrylov krylov)
{
  return (PetscBool)(krylov == BAI_KRYLOV_CG || krylov == BAI_KRYLOV_FCG);
}

/*
   The factor by which ||b - A x|| must grow to count as divergence. Conjugate gradients reduce the error in each
   iteration, but this norm may grow by sqrt(cond(A)). If cond(A) exceeds 1/eps, the matrix is singular up to rounding.
   So for conjugate gradients 1/sqrt(eps) replaces PETSc's default
*/
static inline PetscReal KSPBAIDivtol(KSP ksp)
{
  const PetscReal by_default = (PetscReal)1e4;

  if (!KSPBAIIsPositive(((KSP_BAI *)ksp->data)->krylov) || ksp->divtol != by_default) return ksp->divtol;
  return PetscMax(by_default, 1 / PETSC_SQRT_MACHINE_EPSILON);
}

/* The tolerances of a whole solve by the engine, of the system with b times scale; of a zero guess, from ||b|| */
static inline BAITolerances KSPBAITolerances(KSP ksp, PetscReal scale)
{
  const PetscBool fixed = KSPBAIIsFixed(ksp);

  return (BAITolerances){.rtol   = (BAIReal)(fixed ? 0 : ksp->rtol),
                         .abstol = (BAIReal)(fixed ? 0 : scale * ksp->abstol),
                         .dtol   = (BAIReal)(fixed || ((KSP_BAI *)ksp->data)->grows ? 0 : KSPBAIDivtol(ksp)),
                         .scaled = (BAIReal)(KSPBAITestsTwice(ksp) ? ksp->rtol : 0),
                         .bnorm2 = -1,
                         .fixed  = fixed,
                         .max_it = (BAIInt)ksp->max_it};
}

static inline PetscBool KSPBAIIsBiCGStabOnChip(const KSP_BAI *k)
{
  return (PetscBool)(k->runner == BAI_BY_CHIP && !k->bai.hierarchy->info.hermitian);
}

/* kspsetup.c */
PETSC_INTERN PetscErrorCode KSPBAIGetPCTypeOption(KSP, char type[], size_t, PetscBool *given);
PETSC_INTERN PetscErrorCode KSPBAIChooseMethod(KSP);
PETSC_INTERN PetscErrorCode KSPBAIChoosePC(KSP);
PETSC_INTERN PetscErrorCode KSPBAIViewUnusedPC(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPBAISetUp(KSP);
PETSC_INTERN PetscErrorCode KSPBAISetUpKrylov(KSP);
PETSC_INTERN PetscErrorCode KSPReset_BAI(KSP);

/* kspsolve.c */
PETSC_INTERN PetscErrorCode KSPBAIPrepare(KSP);
PETSC_INTERN PetscErrorCode KSPSetUp_BAI(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_BAI(KSP);

/* breakdown.c */
typedef enum {
  BAI_ENDS,  /* the KSP has its reason */
  BAI_AGAIN, /* another method must continue */
  BAI_SCALE  /* the method must restart with b scaled */
} BAIOutcome;
PETSC_INTERN const char     KSPBAIStallText[];
PETSC_INTERN PetscErrorCode KSPBAITakeFailure(KSP, const BAILevelsSolution *, PetscBool leaves, BAIOutcome *);
PETSC_INTERN PetscErrorCode KSPBAILeaveDiverged(KSP, BAILevelsSolution *);

/* relaxation.c */
PETSC_INTERN const char     KSPBAIOtherMethodText[];
PETSC_INTERN PetscErrorCode KSPSetUp_BAIRelaxation(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_BAIRelaxation(KSP);

/* columns.c */
PETSC_INTERN PetscErrorCode KSPMatSolve_BAI(KSP, Mat B, Mat X);

/* convergence.c */
PETSC_INTERN PetscErrorCode KSPBAITestGuess(KSP, PetscReal);
PETSC_INTERN PetscErrorCode KSPBuildSolution_BAI(KSP, Vec, Vec *);
PETSC_INTERN PetscErrorCode KSPBAIResidual(KSP, Vec b, Vec x, PetscReal *rnorm);
PETSC_INTERN PetscErrorCode KSPBAIGetNullSpace(KSP, MatNullSpace *);
PETSC_INTERN PetscErrorCode KSPBAIScaledNorms(KSP, Vec b, Vec r, BAILevelsSolution *);
PETSC_INTERN PetscErrorCode KSPBAIStandsStill(KSP, Vec, Vec, PetscReal);
PETSC_INTERN PetscErrorCode KSPBAILeavesRows(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPBAIMayGrow(KSP);

/* The context of KSPBAIWatch(), which is called after each iteration with the norm of the updated residual */
typedef struct {
  KSP               ksp;
  BAILevelsVectors *v;      /* arrays of the engine, or NULL */
  PetscInt          before; /* iterations of the solve before this run */
  PetscInt          its;    /* iterations of this run, or -1 before the first norm */
  PetscReal         goal;   /* norms above this one do not count as converged; 0: there is no goal */
  PetscReal         rnorm0; /* norm of the guess */
  BAIStall          stall;
  PetscBool         stalls;
  PetscErrorCode    code;
} BAIWatcher;

PETSC_INTERN int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm);

/* inner.c */
PETSC_INTERN PetscErrorCode KSPBAISetUpInner(KSP);
PETSC_INTERN PetscErrorCode KSPBAIRunInner(KSP, PetscBool guess_zero, PetscInt max_it, PetscBool fixed, BAIWatcher *,
                                           BAILevelsSolution *);
