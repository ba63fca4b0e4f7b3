/*
   How the host waits for what is in the stream. A thread that spins sees the end at once, and keeps a processor busy
   until then. One that sleeps on a blocking event is woken late, by up to 0.3 ms on a machine with an H200. So who is
   to sleep does so where the wait is long: where it turns out to be, or where the last two were
*/
#include "../../relaxation/cuda/state.h"
#include <chrono>

static const double LONG_WAIT = 8e-3; /* seconds; being woken takes at most a twentieth of that */

static double Now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

BAIStatus BAICUDAWait(BAIState state)
{
  const double begin = Now();
  cudaError_t  ready = cudaErrorNotReady;

  if (!state->p.idle_wait) {
    CUDATry(cudaStreamSynchronize(state->stream));
    return BAIStatusOf(BAI_OK);
  }
  if (!state->reached)
    CUDATry(cudaEventCreateWithFlags(&state->reached, cudaEventBlockingSync | cudaEventDisableTiming));
  CUDATry(cudaEventRecord(state->reached, state->stream));
  while (state->long_waits < 2 && ready == cudaErrorNotReady && Now() - begin < LONG_WAIT)
    ready = cudaEventQuery(state->reached);
  (void)cudaGetLastError(); /* not ready is none */
  if (ready == cudaErrorNotReady) ready = cudaEventSynchronize(state->reached);
  CUDATry(ready);
  state->long_waits = Now() - begin < LONG_WAIT ? 0 : state->long_waits + (state->long_waits < 2);
  return BAIStatusOf(BAI_OK);
}

void BAICUDAWaitDestroy(BAIState state)
{
  if (state->reached) (void)cudaEventDestroy(state->reached);
}
