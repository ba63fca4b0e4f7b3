/*
   The numbers by which solves on the chip are made. Where no source is given there is no record of one: measure before
   and after a change
*/
#pragma once

enum {
  /* Parts: rows of one, if there are as many; and entries that a row counts for where parts are to have as much to
     do */
  BAI_CHIP_LEAST_ROWS = 128,
  BAI_CHIP_PER_ROW    = 4,
  BAI_CHIP_BIT_BYTES  = 160 * 1024, /* of shared memory in set-up, for a bit and a count of each place, at most */

  /* Parts for many systems are made for this many, which has many divisors, and with at most so many cuts */
  BAI_CHIP_SYSTEMS = 48,
  BAI_CHIP_TRIES   = 4
};

/* Cycles of an iteration in which a multiprocessor waits for sums and neighbours; and that an entry takes, which is
   read four times: in registers, and in shared memory, where entries of several rows hinder each other */
#define BAI_CHIP_WAITING      6000.
#define BAI_CHIP_IN_REGISTERS 0.3
#define BAI_CHIP_IN_SHARED    3.

/* Local sweeps. Chebyshev's weights are for the part of the spectrum of a block above its largest eigenvalue over this;
   for at least this part of its middle to either side. Without a Hermitian matrix this over the eigenvalue damps */
#define BAI_CHIP_SPECTRUM 20.
#define BAI_CHIP_RADIUS   1e-3
#define BAI_CHIP_DAMPING  1.8
