/* POSIX shared memory, see shared.h */
#include "../shared.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  char   name[48];
  size_t bytes;
} Handle;

_Static_assert(sizeof(Handle) <= sizeof(BAISharedHandle), "a handle holds it");

static BAIStatus Refuse(const char *what)
{
  return BAIStatusBecause(BAI_ERR_PEERS, what, strerror(errno));
}

/* Maps an object of this name to *memory; with O_CREAT in flags creates it, and removes it again after an error */
static BAIStatus MapObject(const char *name, int flags, size_t bytes, void **memory)
{
  const int file = shm_open(name, flags | O_RDWR, 0600);
  BAIStatus status;

  if (file < 0) return Refuse("shm_open()");
  if (flags & O_CREAT)
    errno = posix_fallocate(file, 0,
                            (off_t)bytes); /* without it, missing memory would be noticed only when it is written to */
  if (flags & O_CREAT && errno) {
    status = Refuse("posix_fallocate()");
    (void)close(file);
    (void)shm_unlink(name);
    return status;
  }
  *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  status  = *memory == MAP_FAILED ? Refuse("mmap()") : BAIStatusOf(BAI_OK);
  if (status.code) *memory = NULL;
  (void)close(file);
  if (status.code && flags & O_CREAT) (void)shm_unlink(name);
  return status;
}

/* The functions BAIShared...() of ../shared.h */
static BAIStatus CreateObject(size_t bytes, BAIShared *shared, BAISharedHandle *handle)
{
  static _Atomic(unsigned) number;
  Handle                   h = {.bytes = bytes ? bytes : 1};

  shared->bytes = h.bytes;
  shared->made  = 1;
  if (!handle) {
    shared->memory = malloc(h.bytes);
    return BAIStatusOf(shared->memory ? BAI_OK : BAI_ERR_MEMORY);
  }
  (void)snprintf(h.name, sizeof(h.name), "/petscbai-%ld-%u", (long)getpid(), atomic_fetch_add(&number, 1));
  BAITry(MapObject(h.name, O_CREAT | O_EXCL, h.bytes, &shared->memory));
  memcpy(shared->name, h.name, sizeof(h.name));
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus OpenObject(const BAISharedHandle *handle, BAIShared *shared)
{
  Handle h;

  memcpy(&h, handle, sizeof(h));
  BAITry(MapObject(h.name, 0, h.bytes, &shared->memory));
  shared->bytes = h.bytes;
  return BAIStatusOf(BAI_OK);
}

static void UnlinkObject(BAIShared *shared)
{
  if (shared->made && shared->name[0]) (void)shm_unlink(shared->name);
  shared->name[0] = 0;
}

static BAIStatus CloseObject(BAIShared *shared)
{
  if (shared->alone) free(shared->memory);
  else {
    UnlinkObject(shared);
    (void)munmap(shared->memory, shared->bytes);
  }
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Copy(void *to, const void *from, size_t bytes, void *stream)
{
  (void)stream;
  memcpy(to, from, bytes);
  return BAIStatusOf(BAI_OK);
}

const BAISharedOps BAISharedHost = {.create = CreateObject,
                                    .open   = OpenObject,
                                    .opened = UnlinkObject,
                                    .close  = CloseObject,
                                    .copy   = Copy};
