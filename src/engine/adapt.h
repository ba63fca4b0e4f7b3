/*
   When to look at the residual norm, and how to go on: what was seen goes in, a decision comes out, and the drivers of
   a solve obey it. These are KSPBAI, for all backends, and the kernel that does a whole solve by itself
   (cuda/resident.cu).

   While the iteration is as the options say, the next look is due when the contraction seen so far promises that it is
   worth while: what it was over about the last half of the iterations, as over a few it is lost in what the order of
   the blocks does to the norm. At the latest it is due after as many iterations as there were, so that a solve is
   looked at a logarithmic number of times, and a divergence is seen in time.

   Once the iteration has shown to be slow it may be accelerated. From the rate at which the residual norm falls, the
   spectral radius of the plain iteration is estimated, and from that the best relaxation:

     mode color   over-relaxation, omega = 2/(1 + sqrt(1 - rho^2)), as of successive over-relaxation
     mode sync    the same omega, and momentum omega - 1, as of second-order Richardson iteration

   rho is the spectral radius of Jacobi's iteration and of the global iteration (L. A. Hageman, D. M. Young, "Applied
   Iterative Methods", 1981, Chapters 5 and 9; G. H. Golub, R. S. Varga, Numer. Math. 3, 1961). A rate seen too early is
   too good, so the relaxation only goes up; if the residual grows, or falls no faster than before, it goes back, and
   stays below for a while. As over-relaxation leaves the residual rough, and so large, the last few iterations before
   each look are plain.

   With a coarse correction, in mode sync, what is iterated is I - omega B, B having its spectrum in [a, top], of which
   top is known. Then

     omega = (1 + sqrt(beta))^2/top, and momentum beta = ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^2 with kappa = top/a

   are best, and a is what is estimated from the rate. It begins so, as what a coarse space leaves depends little on the
   matrix, or with what solves before have found.
   In a solve momentum goes up, so it is not raised by what a few iterations show: the norm swings if it is larger
   than the matrix asks for. If the norm falls more slowly with more of it, what is slow belongs to an eigenvalue
   above top: top is raised, as it is if the norm grows, and momentum is what it was to begin with. If that happens
   again there are eigenvalues that are not real, of a matrix that is not symmetric: from then on momentum has a
   bound, below which less is tried as long as it is faster. Where these are the correction's doing there is no
   momentum from then on. If it takes too long with none, or far too long with little, the correction is given up.

   Where over-relaxation comes to nothing in mode color, mode sync is tried; where momentum comes to nothing in a mode
   that was not asked for, the mode of the options goes on.
*/
#pragma once

#include "engine.h"

/* Of what it bears with a coarse correction: it is not known, but without the correction it bears more; and the same,
 * and now it goes on with none */
enum {
  BAI_SPOILT      = -1,
  BAI_SPOILT_NONE = -2
};

/* What a solve is to reach, and how it may go on */
typedef struct BAIGoal_ {
  BAIMode mode;        /* of the options */
  BAIMode accelerated; /* sync or color: the mode in which it is accelerated */
  int     accelerate;  /* it may be */
  double  momentum;    /* of the options, where it is not accelerated */
  double tol2, most2; /* it ends when ||r||^2 is at most tol2, at least most2, or not a number; tol2 is 0 if there is no
                         tolerance, */
  BAIInt max_it;      /* or after so many iterations */
  BAIInt first;       /* iterations before the first look */
  BAIInt coarsen; /* there is no coarse correction, but after so many iterations may be: the decision then says when it
                     is to be made; 0: never */
  double top;   /* with a coarse correction, and mode sync: the largest eigenvalue of what it makes of A; 0: without */
  double rows;  /* with it: of the matrix; */
  double beta;  /* momentum to begin with; 0: BAIAdaptFirstBeta(); */
  double bears; /* the largest condition whose momentum it bears, 1: none; 0: not known; or BAI_SPOILT */
  int    late;  /* and decisions are for the iteration after the next */
} BAIGoal;

typedef enum {
  BAI_X_ON,   /* go on from this x, */
  BAI_X_KEEP, /* keep it and go on, */
  BAI_X_BACK  /* or go back to the x kept last, or to that of the start */
} BAIAdvice;

/* How to go on */
typedef struct BAIDecision_ {
  int     stop; /* the goal is reached, or out of reach */
  BAIMode mode;
  int     begins;  /* the acceleration begins here, or another mode; */
  int     stalls;  /* the norm has stood still for long: the caller is to see whether that is rounding */
  int     coarsen; /* or would, with a coarse correction, which is to be made: then all starts anew */
  int     vain;    /* it goes on without the coarse correction, which does not help */
  int     rest;    /* the first iteration is to be without momentum */
  int even; /* local sweeps are to be even in number: an odd number of them overshoots, and is not to be over-relaxed */
  BAIInt    until;           /* the next look; */
  BAIInt    plain;           /* from this iteration to the next look omega is not raised */
  double    omega, momentum; /* what multiplies the omega of the options; momentum */
  BAIAdvice x;
} BAIDecision;

/* What is known of a solve */
typedef struct {
  BAIGoal goal;
  BAIMode mode;        /* in which it goes on */
  int     accelerate;  /* it may be; and it is, */
  int     accelerated; /* that is, the following is more than when to look */
  double  beta, cap;   /* omega - 1, and what it stays below */
  double  begin2;      /* ||r||^2 where the mode began, */
  double  best2;       /* and the smallest so far */
  double  from2;       /* ||r||^2 where the rate is measured from */
  BAIInt  from, until; /* the global iteration of that, and the one after which the next look is worth while */
  double  low2;        /* ||r||^2 when it was last clearly smaller than ever, */
  BAIInt  low;         /* and where that was */
  double  slope;       /* fall of log ||r|| per iteration that was seen last; 0: not yet with this relaxation */
  double  slope_below; /* that with the relaxation before, */
  double  beta_below;  /* which was this; negative: none */
  int     slower;      /* intervals in a row that fell less than with that */
  int     held, hold;  /* intervals that the cap has held beta, and after how many it gives way a little; with a coarse
                          correction: top is not raised any more */
  double  slope_more;  /* with a coarse correction, where less momentum is tried than it bears: the fall with more, */
  double  beta_more;   /* which was this; negative: not tried; */
  int     settled;     /* and whether that has come to an end */
  int     coarsen;     /* a coarse correction is to be made */
  int     rest;        /* the iteration comes to rest, */
  BAIInt  resting;     /* and where it did so last */
} BAIAdapt;

#if !defined(__CUDACC__) /* a kernel has its own: adapt_rules.h */
  #if defined(__cplusplus)
extern "C" {
  #endif

/* From its on in a mode, at ||r||^2 */
BAIDecision BAIAdaptStart(BAIAdapt *, const BAIGoal *, BAIMode, BAIInt its, double rnorm2);
/* Takes note of ||r||^2 after its global iterations. After BAI_X_BACK the iteration goes on from the residual norm of
 * the x kept, whose square is best2 */
BAIDecision BAIAdaptLook(BAIAdapt *, BAIInt its, double rnorm2);
/* With a coarse correction: the momentum to begin with, and a smaller one to try next, for two thirds of the condition;
 * 0 if there is none */
double BAIAdaptFirstBeta(void);
double BAIAdaptLessBeta(double beta);
/* What BAIGoal::bears is to be for solves after this one */
double BAIAdaptBears(const BAIAdapt *);
/* BAIBackendReplay() on the host */
BAIStatus BAIAdaptReplay(const BAIGoal *, int n, const double *rnorm2, BAIDecision *);

  #if defined(__cplusplus)
}
  #endif
#endif
