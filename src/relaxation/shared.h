/*
   Memory shared with other ranks of the node: shared memory on the host; with CUDA, memory of a device that another
   process opens by a handle. Its creator frees it after all others have closed it
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct BAIShared_ BAIShared;
struct BAIShared_ {
  void  *memory; /* NULL: none */
  size_t bytes;
  int    made;                     /* created here; otherwise opened */
  int    alone;                    /* without a handle */
  char   name[48];                 /* host: name by which it can still be opened */
  BAIStatus (*unpin)(BAIShared *); /* of the backend whose devices copy from and to it by themselves, or NULL */
};

/* A handle by which other ranks open it; valid on one node only */
typedef struct {
  unsigned char bytes[72];
} BAISharedHandle;

/* The identity of a device, and its kind, which differs for devices that may add up in another order */
typedef struct {
  unsigned char bytes[16];
  int           kind;
} BAISharedDevice;

typedef struct {
  BAIStatus (*device)(BAISharedDevice *);                            /* NULL: memory does not belong to a device */
  BAIStatus (*use)(int device);                                      /* see BAISharedUse() */
  BAIStatus (*create)(size_t bytes, BAIShared *, BAISharedHandle *); /* with a handle, all bytes are 0 */
  BAIStatus (*open)(const BAISharedHandle *, BAIShared *);
  void (*opened)(BAIShared *); /* no further rank will open it; NULL: nothing is to be done */
  BAIStatus (*close)(BAIShared *);
  BAIStatus (*copy)(void *to, const void *from, size_t bytes, void *stream);
  BAIStatus (*pin)(BAIShared *);   /* sets unpin; NULL: memory is not pinned */
  BAIStatus (*wait)(void *stream); /* NULL: copies are done at once */
} BAISharedOps;

extern const BAISharedOps BAISharedHost, BAISharedCUDA;

/* The current device, on which memory is created, all zero for the host; BAI_ERR_NOT_BUILT without the backend */
BAIStatus BAISharedDeviceGet(BAIBackend, BAISharedDevice *);
/* Makes a device current, by its number as in BAILevelsParameters; does nothing for the host */
BAIStatus BAISharedUse(BAIBackend, int device);
/* BAI_ERR_PEERS if it fails. Without a handle, NULL, the memory is for this process alone. Closing memory that is NULL
   does nothing */
BAIStatus BAISharedCreate(BAIBackend, size_t bytes, BAIShared *, BAISharedHandle *);
BAIStatus BAISharedOpen(BAIBackend, const BAISharedHandle *, BAIShared *);
void      BAISharedOpened(BAIBackend, BAIShared *);
BAIStatus BAISharedClose(BAIBackend, BAIShared *);
/* Lets devices of a backend copy from and to memory of the host by themselves, until it is closed */
BAIStatus BAISharedPin(BAIBackend, BAIShared *);
/* Copies bytes from or to such memory, on a device in stream order, and waits for the work in the stream */
BAIStatus BAISharedCopy(BAIBackend, void *to, const void *from, size_t bytes, void *stream);
BAIStatus BAISharedWait(BAIBackend, void *stream);

#if defined(__cplusplus)
}
#endif
