/* Random numbers that depend on nothing but a seed */
#ifndef BAI_TESTS_DICE_H
#define BAI_TESTS_DICE_H

#include <petscsys.h>
#include <stdint.h>

/* splitmix64, as by S. Vigna */
typedef struct {
  uint64_t state;
} Dice;

static inline uint64_t Next(Dice *dice)
{
  uint64_t z = (dice->state += 0x9e3779b97f4a7c15U);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static inline PetscInt Below(Dice *dice, PetscInt n)
{
  return (PetscInt)(Next(dice) % (uint64_t)n);
}

static inline PetscBool OneIn(Dice *dice, PetscInt n)
{
  return (PetscBool)(Below(dice, n) == 0);
}

/* [0,1) */
static inline PetscReal Unit(Dice *dice)
{
  return (PetscReal)(Next(dice) >> 40) / (PetscReal)(1 << 24);
}

static inline PetscReal Between(Dice *dice, PetscReal least, PetscReal most)
{
  return least + (most - least) * Unit(dice);
}

/* Dice of one row of the matrix or vector number `which`, on whatever rank it is */
static inline Dice RowDice(int seed, int which, PetscInt row)
{
  Dice dice = {.state = (uint64_t)seed};

  dice.state = Next(&dice) + (uint64_t)which;
  dice.state = Next(&dice) + (uint64_t)row;
  return dice;
}

#endif
