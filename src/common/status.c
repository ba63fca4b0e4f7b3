/* Texts of errors */
#include "types.h"
#include <string.h>

const char *BAICodeString(BAICode code)
{
  static const char *const text[] = {
    [BAI_OK]            = "no error",
    [BAI_ERR_MEMORY]    = "out of memory",
    [BAI_ERR_DIAGONAL]  = "missing or zero diagonal entry",
    [BAI_ERR_PATTERN]   = "the matrix has another pattern than at set-up",
    [BAI_ERR_SIZE]      = "more rows or entries on one rank than this backend can index",
    [BAI_ERR_DEVICE]    = "device error",
    [BAI_ERR_STALLED]   = "a block waited too long for another",
    [BAI_ERR_ABSENT]    = "another rank did not come to an exchange of x in time",
    [BAI_ERR_PEERS]     = "memory cannot be shared with another rank",
    [BAI_ERR_NOT_BUILT] = "not in this build of the library",
    [BAI_ERR_LONG]      = "a row has too many entries for many levels",
    [BAI_ERR_CHIP]      = "the matrix does not fit on the chip",
    [BAI_ERR_CAPTURE]   = "a CUDA graph is being captured",
    [BAI_ERR_KERNEL]    = "this family of kernels cannot be used",
    [BAI_ERR_OUTDATED]  = "the aggregates do not fit the new values",
  };
  return text[code];
}

BAIStatus BAIStatusBecause(BAICode code, const char *what, const char *why)
{
  static _Thread_local char text[96];
  const BAIStatus           status = {code, -1, what, text};

  strncpy(text, why, sizeof(text) - 1);
  return status;
}
