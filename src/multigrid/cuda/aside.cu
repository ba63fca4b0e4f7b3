/*
   Levels are stored by places and looked at: all of them at the end of a set-up, but new values of the finest one on a
   stream of its own, while coarser levels get theirs
*/
#include "levels.h"

BAIStatus BAIPlaceAndLook(BAILevelsState state, int first, int end)
{
  BAITry(BAIPlaceLevels(state, first, end));
  BAITry(BAILikeBlocks(state, first, end));
  return state->kept ? BAIFitGrids(state, first, end) : BAIStatusOf(BAI_OK);
}

/* Creates the stream of BAIDeviceAside(), of the lowest priority, so that the small kernels of coarse levels need not
   wait for the large ones of the finest level */
static BAIStatus CreateAside(BAILevelsState state)
{
  int least, greatest;

  if (state->aside) return BAIStatusOf(BAI_OK);
  CUDATry(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CUDATry(cudaEventCreateWithFlags(&state->begun, cudaEventDisableTiming));
  CUDATry(cudaEventCreateWithFlags(&state->ended, cudaEventDisableTiming));
  CUDATry(cudaStreamCreateWithPriority(&state->aside, cudaStreamNonBlocking, least));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceAside(BAILevelsState state)
{
  const cudaStream_t stream = state->s.stream;
  BAIStatus          status;

  if (!state->kept || state->levels != 2) return BAIStatusOf(BAI_OK);
  BAITry(CreateAside(state));
  CUDATry(cudaMemsetAsync(state->placed, 0, sizeof(*state->placed), stream));
  CUDATry(cudaEventRecord(state->begun, stream));
  CUDATry(cudaStreamWaitEvent(state->aside, state->begun));
  state->s.stream = state->aside;
  state->joined++;
  status = BAIPlaceAndLook(state, 0, 1);
  state->joined--;
  state->s.stream = stream;
  state->beside   = 1;
  CUDATry(cudaEventRecord(state->ended, state->aside));
  return status;
}
