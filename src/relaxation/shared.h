/*
   Memory that other ranks of the node reach: on the host shared memory, with CUDA memory of a device whose handle
   another process opens. Who made it frees it, after all others have closed it
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct {
  void  *memory; /* NULL: none */
  size_t bytes;
  int    made;     /* here; else it was opened */
  char   name[48]; /* host: by which it is opened, as long as it can be */
} BAIShared;

/* By which other ranks open it; means something on one node only */
typedef struct {
  unsigned char bytes[72];
} BAISharedHandle;

/* The identity of a device */
typedef struct {
  unsigned char bytes[16];
} BAISharedDevice;

typedef struct {
  BAIStatus (*device)(BAISharedDevice *);                            /* NULL: memory is not that of a device */
  BAIStatus (*create)(size_t bytes, BAIShared *, BAISharedHandle *); /* all bytes are 0 */
  BAIStatus (*open)(const BAISharedHandle *, BAIShared *);
  void (*opened)(BAIShared *); /* nobody else is going to open it */
  BAIStatus (*close)(BAIShared *);
} BAISharedOps;

extern const BAISharedOps BAISharedHost, BAISharedCUDA;

/* Of the current device, which is where memory is made. BAI_ERR_NOT_BUILT if there is none */
BAIStatus BAISharedDeviceGet(BAIBackend, BAISharedDevice *);
/* BAI_ERR_PEERS if it cannot be; what is none may be closed */
BAIStatus BAISharedCreate(BAIBackend, size_t bytes, BAIShared *, BAISharedHandle *);
BAIStatus BAISharedOpen(BAIBackend, const BAISharedHandle *, BAIShared *);
void      BAISharedOpened(BAIBackend, BAIShared *);
BAIStatus BAISharedClose(BAIBackend, BAIShared *);

#if defined(__cplusplus)
}
#endif
