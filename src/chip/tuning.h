/*
   The numbers by which solves on the chip are made. Measure before and after a change
*/
#pragma once

enum {
  /* Parts: smallest number of rows, if there are enough; and weight of a row in entries, where parts are to have equal
     work */
  BAI_CHIP_LEAST_ROWS = 128,
  BAI_CHIP_PER_ROW    = 4,
  BAI_CHIP_BIT_BYTES  = 160 * 1024, /* largest amount of shared memory in set-up, for a bit and a count of each place */

  /* Parts for many systems are made for this number, which has many divisors, with at most this number of trials */
  BAI_CHIP_SYSTEMS = 48,
  BAI_CHIP_TRIES   = 4
};

/* Cycles of an iteration in which a multiprocessor waits for sums and neighbours; and cycles of an entry, which is read
   four times: in registers, and in shared memory, with conflicts between rows */
#define BAI_CHIP_WAITING      6000.
#define BAI_CHIP_IN_REGISTERS 0.3
#define BAI_CHIP_IN_SHARED    3.

/* Local sweeps. Chebyshev's weights are for eigenvalues of a block between the largest one over BAI_CHIP_SPECTRUM and
   the largest one, at least for BAI_CHIP_RADIUS of the centre to either side. Without a Hermitian matrix sweeps are
   damped by BAI_CHIP_DAMPING over the largest eigenvalue */
#define BAI_CHIP_SPECTRUM 20.
#define BAI_CHIP_RADIUS   1e-3
#define BAI_CHIP_DAMPING  1.8
