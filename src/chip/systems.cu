/*
   Krylov methods for matrices that stay on the chip: a whole solve is one launch. The preconditioner M consists of
   damped Jacobi sweeps from zero inside the block of rows of each thread block.

   With L and R the scalings of chip.h, A below is L A R, whose diagonal is 1. M g is the result of local sweeps for g,
   from y = 0:

     step = a_k step + b_k (g - A_JJ y),  y = y + step

   Gershgorin's theorem bounds the largest eigenvalue of A_JJ. If A is Hermitian, a_k and b_k are Chebyshev weights for
   the upper part of the spectrum, so M is positive definite for every positive definite A. Otherwise a_k is 0, and b_k
   damps.

   A Hermitian A is solved by pipelined conjugate gradients (pipelined.cu), other matrices by BiCGStab (bicgstab.cu)
   with M on the right. If the recurrence says that ||r|| is small enough, b - A x is computed; the solve ends if its
   norm is small enough as well, and otherwise continues from there. team.h describes the exchange of vectors, sums.h
   sums. For many systems there is a second set of parts with more rows each, see parts.cu
*/
#include "team.h"
#include <limits.h>
#include <vector>

/* The number of places of all parts */
static size_t PlacesOf(const BAIChipParts &parts)
{
  return (size_t)parts.A.parts * (size_t)parts.A.rows_most;
}

/* Resets exchanges, at first and after a launch that gave up */
static BAIStatus Reset(const BAIChip *chip, const BAIChipParts &parts, BAIChipBuffers *buffers, int systems)
{
  const size_t n = (size_t)systems;

  CUDATry(cudaMemsetAsync(buffers->exchange, 0xff, n * BAI_CHIP_BUFFERS * PlacesOf(parts) * sizeof(BAIReal),
                          chip->context->stream));
  CUDATry(cudaMemsetAsync(buffers->words, 0, n * 2 * BAI_CHIP_LINE * sizeof(*buffers->words), chip->context->stream));
  CUDATry(cudaMemsetAsync(buffers->left, 0, n * sizeof(*buffers->left), chip->context->stream));
  buffers->odd = 0;
  return BAIStatusOf(BAI_OK);
}

/* Allocates the buffers of a number of systems, which need a Reset() */
static BAIStatus Allocate(BAIChip *chip, const BAIChipParts &parts, BAIChipBuffers *buffers, int systems)
{
  const size_t n = (size_t)systems;

  BAITry(BAICUDAAllocate(chip->context, n * BAI_CHIP_BUFFERS * PlacesOf(parts) * sizeof(BAIReal), &buffers->exchange));
  BAITry(BAICUDAAllocate(chip->context, n * 2 * BAI_CHIP_LINE * sizeof(*buffers->words), &buffers->words));
  BAITry(BAICUDAAllocate(chip->context, n * sizeof(*buffers->left), &buffers->left));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIChipSetUp(BAIChip *chip, BAIContext *context, const BAIRows *A, const BAINumbering *grid, int hermitian,
                       int longest)
{
  static_assert(sizeof(*chip->told) <= BAI_PINNED_BYTES, "a piece of pinned memory holds it");
  bool fits;

  chip->context  = context;
  chip->grid     = *grid;
  chip->bicgstab = !hermitian;
  chip->longest  = longest;
  BAITry(BAIChipCut(chip, *A, &fits));
  if (!fits) return BAIStatusOf(BAI_OK);
  BAITry(Allocate(chip, chip->one, &chip->single, 1));
  BAITry(BAICUDAAllocate(context, sizeof(*chip->stalled), &chip->stalled));
  CUDATry(cudaMemsetAsync(chip->stalled, 0, sizeof(*chip->stalled), context->stream));
  BAITry(BAIPinnedGet(&chip->told));
  BAITry(Reset(chip, chip->one, &chip->single, 1));
  chip->on = 1;
  return BAIChipUpdateValues(chip, A, hermitian);
}

void BAIChipDestroy(BAIChip *chip)
{
  BAIPinnedRestore(chip->told);
}

/* Launches the kernel for a number of systems, in stream order. The two pairs of exchange buffers take turns */
static BAIStatus Launch(BAIChip *chip, const BAIChipParts &parts, BAIChipBuffers *buffers, int systems, Problem *p)
{
  const size_t half        = BAI_CHIP_BUFFERS / 2 * PlacesOf(parts);
  void        *arguments[] = {p};

  p->A        = parts.A;
  p->words    = buffers->words;
  p->left     = buffers->left;
  p->exchange = buffers->exchange + (buffers->odd ? half : 0);
  p->other    = buffers->exchange + (buffers->odd ? 0 : half);
  CUDATry(cudaLaunchCooperativeKernel(parts.kernel, dim3((unsigned)parts.A.parts, (unsigned)systems),
                                      dim3((unsigned)parts.threads), arguments, parts.shared, chip->context->stream));
  buffers->odd = !buffers->odd; /* not after a launch that has failed, which made no buffers look old */
  return BAIStatusOf(BAI_OK);
}

/* Waits for a launch. If a thread block has waited too long for another, restores the buffers and returns
   BAI_ERR_STALLED */
static BAIStatus Wait(BAIChip *chip)
{
  BAITry(BAICUDAWait(chip->context));
  if (!chip->told->stalled) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemsetAsync(chip->stalled, 0, sizeof(*chip->stalled), chip->context->stream));
  BAITry(Reset(chip, chip->one, &chip->single, 1));
  return BAIStatusBecause(BAI_ERR_STALLED, "a solve on the chip", "a thread block waited too long for another");
}

/* Launches the kernel for one system, and waits for the result in chip->told */
static BAIStatus LaunchOne(BAIChip *chip, Problem *p)
{
  chip->told->stalled = 0;
  BAITry(Launch(chip, chip->one, &chip->single, 1, p));
  return Wait(chip);
}

/* Solves with one launch for each iteration, so that the monitor can look at x in the caller's memory. If the monitor
   or max_it ends the solve, one more launch computes the true residual. The monitor is not called for an iteration at
   which the solve ends by itself. The result is in chip->told; p is overwritten; the first call allocates chip->saved
   */
static BAIStatus Watched(BAIChip *chip, Problem *p, BAILevelsMonitor monitor, void *context)
{
  const size_t bytes  = BAI_CHIP_VECTORS * PlacesOf(chip->one) * sizeof(BAIReal);
  const int    max_it = p->max_it;

  if (!chip->saved) BAITry(BAICUDAAllocate(chip->context, bytes, &chip->saved));
  p->saved  = chip->saved;
  p->until  = 0;
  p->max_it = INT_MAX; /* launches end before that */
  BAITry(LaunchOne(chip, p));
  p->zero = 0; /* later launches read the x that the one before has left */
  while (true) {
    const int its = p->result->its;

    if (p->result->reason != -1) break;
    if (monitor(context, (BAIInt)its, (BAIReal)sqrt(p->result->rnorm2))) {
      p->finish = BAI_LEVELS_ITS;
      break;
    }
    p->resume   = 1;
    p->t.bnorm2 = (BAIReal)p->result->bnorm2;
    p->until    = its + 1;
    if (p->until > max_it) p->finish = BAI_LEVELS_ITS;
    if (p->finish >= 0) break;
    BAITry(LaunchOne(chip, p));
  }
  if (p->finish < 0) return BAIStatusOf(BAI_OK);
  p->resume   = 1;
  p->t.bnorm2 = (BAIReal)p->result->bnorm2;
  return LaunchOne(chip, p);
}

/* The arguments of a whole solve of the first system */
static Problem ProblemOf(BAIChip *chip, const BAIColumns &c, int guess_zero, const BAITolerances *tolerances)
{
  Problem p = {};

  p.b            = reinterpret_cast<const BAIReal *>(c.b);
  p.x            = reinterpret_cast<BAIReal *>(c.x);
  p.to_b         = (size_t)c.to_b;
  p.to_x         = (size_t)c.to_x;
  p.zero         = guess_zero;
  p.max_it       = tolerances->max_it < INT_MAX ? (int)tolerances->max_it : INT_MAX - 1;
  p.until        = INT_MAX;
  p.t            = *tolerances;
  p.finish       = -1;
  p.stalled      = chip->stalled;
  p.stalled_host = &chip->told->stalled;
  p.result       = chip->told;
  return p;
}

static BAILevelsSolution SolutionOf(const BAIChipResult &told)
{
  BAILevelsSolution s = {};

  s.rnorm    = (BAIReal)sqrt(told.rnorm2);
  s.bnorm    = (BAIReal)sqrt(told.bnorm2);
  s.rnorm0   = (BAIReal)sqrt(told.rnorm2_begin);
  s.scaled   = (BAIReal)sqrt(told.scaled2);
  s.scaled_b = (BAIReal)sqrt(told.scaled_b2);
  s.its      = (BAIInt)told.its;
  s.reason   = told.reason < 0 ? BAI_LEVELS_ITS : (BAILevelsReason)told.reason;
  return s;
}

BAIStatus BAIChipSolve(BAIChip *chip, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *tolerances,
                       BAILevelsMonitor monitor, void *context, BAILevelsSolution *s)
{
  const BAIColumns c = {1, b, x, 0, 0};
  Problem          p = ProblemOf(chip, c, guess_zero, tolerances);

  if (monitor) BAITry(Watched(chip, &p, monitor, context));
  else BAITry(LaunchOne(chip, &p));
  *s = SolutionOf(*chip->told);
  return BAIStatusOf(BAI_OK);
}

/* Solves as many systems at once as there is room for, in consecutive launches */
BAIStatus BAIChipSolveColumns(BAIChip *chip, const BAIColumns *c, int guess_zero, const BAITolerances *tolerances,
                              BAILevelsSolution *solution)
{
  const int     n     = (int)c->count;
  const size_t  bytes = (size_t)n * sizeof(BAIChipResult);
  BAIChipParts *parts;
  BAITemporary  room;
  Problem       p = ProblemOf(chip, *c, guess_zero, tolerances);

  if (n < 2)
    return n ? BAIChipSolve(chip, c->b, c->x, guess_zero, tolerances, NULL, NULL, solution) : BAIStatusOf(BAI_OK);
  std::vector<BAIChipResult> told((size_t)n);

  BAITry(BAIChipPartsFor(chip, n, &parts));
  if (!parts->columns.left) BAITry(Allocate(chip, *parts, &parts->columns, parts->at_once));
  BAITry(Reset(chip, *parts, &parts->columns, n < parts->at_once ? n : parts->at_once));
  BAITry(room.Allocate(chip->context, bytes));
  CUDATry(cudaMemsetAsync(room.p, 0, bytes, chip->context->stream));
  chip->told->stalled = 0;
  p.result            = static_cast<BAIChipResult *>(room.p);
  for (int first = 0, count; first < n; first += count) {
    count = n - first < parts->at_once ? n - first : parts->at_once;
    BAITry(Launch(chip, *parts, &parts->columns, count, &p));
    p.b += (size_t)count * p.to_b;
    p.x += (size_t)count * p.to_x;
    p.result += count;
  }
  CUDATry(cudaMemcpyAsync(told.data(), room.p, bytes, cudaMemcpyDeviceToHost, chip->context->stream));
  BAITry(Wait(chip));
  for (int k = 0; k < n; k++) solution[k] = SolutionOf(told[(size_t)k]);
  return BAIStatusOf(BAI_OK);
}
