/*
   The data of a KSPBAI, and its ways to solve
*/
#pragma once

#include "../../multigrid/hierarchy.h"
#include "../../common/krylov_rules.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

/* Who does the iterations; relaxation stands here also before the first set-up */
typedef enum {
  BAI_BY_RELAXATION, /* block-asynchronous iteration: relaxation.c */
  BAI_BY_CHIP,       /* a Krylov method in one launch, preconditioned by local sweeps in blocks: kspsolve.c */
  BAI_BY_LEVELS,     /* conjugate gradients preconditioned by the cycle of a PCBAIMG, by the engine: kspsolve.c */
  BAI_BY_PETSC       /* a KSP of PETSc preconditioned by the PC: inner.c */
} BAIRunner;

/* Everything that a set-up follows from. As long as it is the same, a solve asks for nothing of it again. It is
   compared byte by byte */
typedef struct {
  PetscObjectId    pc, A, P, nullspace;
  PetscObjectState state;
  PetscInt64       change, mg_change; /* BAI.change of the KSP and of a PCBAIMG */
  KSPNormType      norm, norm_set;
  PetscBool        skips, transposed, bound; /* the convergence test is KSPConvergedSkip(); A is bound to the host */
} KSPBAISetting;

typedef struct {
  BAI           bai; /* The first member, as the code that KSPBAI shares with the PCs expects it there. Its hierarchy is
                        the matrix on the chip, and has no levels */
  BAI          *mg;  /* The data of the PC at the last set-up if that was a PCBAIMG, else NULL */
  BAIRunner     runner;
  KSPBAISetting setting;  /* of the last set-up; zeros: the next solve is to set up anew */
  BAIMethod     method;   /* The method that runs: never auto */
  char          why[128]; /* The reason for it, in words */
  PetscBool     has_pc;   /* Whether anybody has chosen the type of the PC was found out: later types are chosen */
  PetscBool     chose;    /* The PC is a PCBAIMG as nobody chose another type */
  PetscBool     none;     /* The PC is a PCNONE in its place, as the matrix had no entries */

  PetscBool  transposed; /* The solve is with A^T, and that is not A */
  Mat        At;         /* The transposed matrix, for the relaxation of KSPSolveTranspose() */
  BAIVersion of_At;

  /* Krylov methods */
  KSP        inner;      /* BAI_BY_PETSC, else NULL */
  BAIKrylov  krylov;     /* The Krylov method that runs: never auto */
  BAIVersion found;      /* The matrix for which the next four were found out */
  PetscBool  off_chip;   /* The solve on the chip breaks down */
  PetscBool  indefinite; /* The matrix or the preconditioner is not positive definite */
  PetscBool  breaks;     /* BiCGStab breaks down */
  PetscBool3 hermitian;  /* The answer of a random test of the matrix */
  Vec        weights;    /* 1/|a_ii|, or 0 where that is zero */
  BAIVersion of_weights;
  Vec        scaled; /* b times scale */
  PetscReal  scale;  /* A power of two if squares of norms would be too small or too large, else 1 */

  PetscObjectId of_work; /* The matrix whose vectors KSPBAINeedWork() has made */

  /* The end of the last solve */
  PetscBool stands;     /* Rounding let it get no further */
  PetscReal attainable; /* The residual norm that rounding allows */
  PetscBool stalls;     /* The least residual norm of many iterations hardly fell */
} KSP_BAI;

/* The data of the PC if it is a PCBAIMG, else NULL */
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

/* b of the system that is solved */
static inline Vec KSPBAIRhs(KSP ksp)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  return k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
}

/* The number of iterations is fixed, and no residual norm is asked for */
static inline PetscBool KSPBAIIsFixed(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);
}

/* Monitors or the convergence test may look at x whenever there is a residual norm */
static inline PetscBool KSPBAISeesX(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* The residual norm of every iteration is shown, kept, or tested by the user */
static inline PetscBool KSPBAIIsWatched(KSP ksp)
{
  return (PetscBool)(ksp->res_hist || KSPBAISeesX(ksp) || BAIMinimumIterations(ksp) > 0);
}

/* max_it iterations count as convergence, see KSPConvergedDefaultSetConvergedMaxits() */
static inline PetscBool KSPBAITakesMaxIts(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedDefault && ksp->cnvP &&
                     ((KSPConvergedDefaultCtx *)ksp->cnvP)->convmaxits);
}

/*
   Besides ||b - A x|| the residual is tested row by row over the diagonal of the matrix, so that rows on another scale
   than the others, as those of boundary conditions, do not hide these. A user who names a norm, or has a convergence
   test of another kind, gets that alone
*/
static inline PetscBool KSPBAITestsTwice(KSP ksp)
{
  const KSPConvergedDefaultCtx *test = (KSPConvergedDefaultCtx *)ksp->cnvP;

  return (PetscBool)(ksp->normtype_set == KSP_NORM_DEFAULT && ksp->converged == KSPConvergedDefault && test &&
                     !test->initialrtol && !test->mininitialrtol);
}

/* The user names a norm that is not that of b - A x */
static inline PetscBool KSPBAINamesNorm(KSP ksp)
{
  return (PetscBool)(ksp->normtype_set == KSP_NORM_PRECONDITIONED || ksp->normtype_set == KSP_NORM_NATURAL);
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
  BAI_ENDS,  /* The KSP has its reason */
  BAI_AGAIN, /* Another method is to go on */
  BAI_SCALE  /* The same method is to begin again with b scaled */
} BAIOutcome;
PETSC_INTERN const char     KSPBAIStallText[];
PETSC_INTERN PetscErrorCode KSPBAITakeFailure(KSP, const BAILevelsSolution *, BAIOutcome *);
PETSC_INTERN PetscErrorCode KSPBAILeaveDiverged(KSP, BAILevelsSolution *);

/* relaxation.c */
PETSC_INTERN const char     KSPBAIOtherMethodText[];
PETSC_INTERN PetscErrorCode KSPSetUp_BAIRelaxation(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_BAIRelaxation(KSP);

/* columns.c */
PETSC_INTERN PetscErrorCode KSPMatSolve_BAI(KSP, Mat B, Mat X);

/* convergence.c */
PETSC_INTERN PetscErrorCode KSPBAIGetMatOfEntries(KSP, Mat *);
PETSC_INTERN PetscErrorCode KSPBAINeedWork(KSP);
PETSC_INTERN PetscErrorCode KSPBAITestGuess(KSP, PetscReal);
PETSC_INTERN PetscErrorCode KSPBAIResidual(KSP, Vec b, Vec x, PetscReal *rnorm);
PETSC_INTERN PetscErrorCode KSPBAIScaledNorms(KSP, Vec b, Vec r, BAILevelsSolution *);
PETSC_INTERN PetscErrorCode KSPBAIStandsStill(KSP, Vec, Vec, PetscReal);

/* The context of KSPBAIWatch(), which is called after each iteration with ||b - A x|| as the method updates it */
typedef struct {
  KSP               ksp;
  BAILevelsVectors *v;      /* of the engine, or NULL */
  PetscInt          before; /* iterations of the solve before this run */
  PetscInt          its;    /* iterations of this run so far, -1: nothing was seen yet */
  PetscReal         goal;   /* the convergence test is not asked above this norm; 0: it is always asked */
  PetscReal         rnorm0; /* the norm of the guess */
  BAIStall          stall;
  PetscBool         stalls;
  PetscErrorCode    code;
} BAIWatcher;

PETSC_INTERN int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm);

/* inner.c */
PETSC_INTERN PetscBool      KSPBAIIsPositive(BAIKrylov);
PETSC_INTERN PetscErrorCode KSPBAISetUpInner(KSP);
PETSC_INTERN PetscErrorCode KSPBAIRunInner(KSP, PetscBool guess_zero, PetscInt max_it, PetscBool fixed, BAIWatcher *,
                                           BAILevelsSolution *);
