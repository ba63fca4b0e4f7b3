/* Systems and options that are drawn from a seed */
#ifndef BAI_TESTS_DRAWN_H
#define BAI_TESTS_DRAWN_H

#include "../dice.h"
#include "petscbai.h"
#include <petscksp.h>

typedef enum {
  PATTERN_DIAGONAL,
  PATTERN_BAND,
  PATTERN_GRID,
  PATTERN_RANDOM,
  PATTERN_NEAR,
  PATTERN_LOWER,
  PATTERN_BLOCKS,
  PATTERN_ISLANDS,
  PATTERN_HUBS,
  PATTERN_ARROW,
  PATTERNS
} Pattern;

typedef enum {
  SPLIT_EVEN,
  SPLIT_ONE, /* one rank has all rows */
  SPLIT_ANY, /* some ranks may have none */
  SPLITS
} Split;

typedef enum {
  RHS_RANDOM,
  RHS_ONES,
  RHS_UNIT,
  RHS_ZERO,
  RHS_KINDS
} Rhs;

/* A system, its options, and how it is solved */
typedef struct {
  int         seed;
  PetscInt    n, degree, which; /* rows; couplings of a row, about; the row that has many, or the rank */
  PetscInt    fields;           /* unknowns of a point: the block size */
  Pattern     pattern;
  Split       split;
  Rhs         rhs;
  PetscBool   symmetric, signs, uneven, guess, norm_none, levels; /* levels: KSPBAI has them */
  PetscReal   dominance, spread, scale, rhs_scale, rtol, atol;
  PetscReal   bond; /* size of the couplings of the unknowns of a point, or 0 */
  PetscInt    max_it;
  BAIMode     mode;
  const char *backend;
  char        options[2][1024];
  Mat         A;
  Vec         b, x0;
  PetscInt    longest; /* entries of a row, at most */
} System;

/* Draws all but the entries, which depend on the seed and their row only */
PETSC_INTERN void DrawSystem(System *, int seed, const char backend[]);

/* Creates A, b and x0, which DestroySystem() destroys */
PETSC_INTERN PetscErrorCode CreateSystem(System *);
PETSC_INTERN PetscErrorCode DestroySystem(System *);

/* Creates the matrix only */
PETSC_INTERN PetscErrorCode CreateSystemMat(System *);

/* Prints what was drawn */
PETSC_INTERN PetscErrorCode TellSystem(const System *);

/* Fills a vector with numbers in [-1,1) that depend on the seed, this number and the row */
PETSC_INTERN PetscErrorCode SetRandom(const System *, int which, Vec);

/* ||v||, also where squares over- or underflow */
PETSC_INTERN PetscErrorCode NormOf(Vec v, PetscReal *norm);

#endif
