#include "shared.h"
#include <string.h>

static const BAISharedOps *const kinds[] = {[BAI_BACKEND_HOST] = &BAISharedHost, [BAI_BACKEND_CUDA] = &BAISharedCUDA};

BAIStatus BAISharedDeviceGet(BAIBackend kind, BAISharedDevice *device)
{
  memset(device, 0, sizeof(*device));
  if (kinds[kind]->device) return kinds[kind]->device(device);
  return BAIStatusOf(kinds[kind]->create ? BAI_OK : BAI_ERR_NOT_BUILT);
}

BAIStatus BAISharedUse(BAIBackend kind, int device)
{
  if (kinds[kind]->use) return kinds[kind]->use(device);
  return BAIStatusOf(kinds[kind]->create ? BAI_OK : BAI_ERR_NOT_BUILT);
}

BAIStatus BAISharedCreate(BAIBackend kind, size_t bytes, BAIShared *shared, BAISharedHandle *handle)
{
  memset(shared, 0, sizeof(*shared));
  if (handle) memset(handle, 0, sizeof(*handle));
  shared->alone = !handle;
  return kinds[kind]->create ? kinds[kind]->create(bytes, shared, handle) : BAIStatusOf(BAI_ERR_NOT_BUILT);
}

BAIStatus BAISharedOpen(BAIBackend kind, const BAISharedHandle *handle, BAIShared *shared)
{
  memset(shared, 0, sizeof(*shared));
  return kinds[kind]->open(handle, shared);
}

void BAISharedOpened(BAIBackend kind, BAIShared *shared)
{
  if (shared->memory && kinds[kind]->opened) kinds[kind]->opened(shared);
}

BAIStatus BAISharedPin(BAIBackend kind, BAIShared *shared)
{
  return kinds[kind]->pin ? kinds[kind]->pin(shared) : BAIStatusOf(BAI_OK);
}

BAIStatus BAISharedClose(BAIBackend kind, BAIShared *shared)
{
  BAIStatus status = shared->unpin ? shared->unpin(shared) : BAIStatusOf(BAI_OK);

  if (!status.code && shared->memory) status = kinds[kind]->close(shared);
  memset(shared, 0, sizeof(*shared));
  return status;
}

BAIStatus BAISharedCopy(BAIBackend kind, void *to, const void *from, size_t bytes, void *stream)
{
  return bytes ? kinds[kind]->copy(to, from, bytes, stream) : BAIStatusOf(BAI_OK);
}

BAIStatus BAISharedWait(BAIBackend kind, void *stream)
{
  return kinds[kind]->wait ? kinds[kind]->wait(stream) : BAIStatusOf(BAI_OK);
}
