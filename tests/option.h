/* Options that have a key and no setter */
#ifndef BAI_TESTS_OPTION_H
#define BAI_TESTS_OPTION_H

#include <petscksp.h>
#include <stdarg.h>
#include <stdio.h>

/* Sets an option of a KSPBAI or PCBAI, as "theta", by a database that has nothing else, so nothing else is read */
__attribute__((format(printf, 3, 4))) static inline PetscErrorCode SetOption(PetscObject obj, const char option[],
                                                                             const char format[], ...)
{
  va_list        list;
  PetscClassId   id;
  PetscOptions   all, one;
  PetscErrorCode code;
  const char    *prefix;
  PC             pc;
  char           key[64], value[64];

  PetscFunctionBeginUser;
  va_start(list, format);
  (void)vsnprintf(value, sizeof(value), format, list);
  va_end(list);
  PetscCall(PetscObjectGetClassId(obj, &id));
  PetscCall(PetscObjectGetOptionsPrefix(obj, &prefix));
  PetscCall(
    PetscSNPrintf(key, sizeof(key), "-%s%s_bai_%s", prefix ? prefix : "", id == KSP_CLASSID ? "ksp" : "pc", option));
  if (id == KSP_CLASSID) PetscCall(KSPGetPC((KSP)obj, &pc)); /* which would keep the database that it is made with */
  PetscCall(PetscObjectGetOptions(obj, &all));
  PetscCall(PetscOptionsCreate(&one));
  PetscCall(PetscOptionsSetValue(one, key, value));
  PetscCall(PetscObjectSetOptions(obj, one));
  code = id == KSP_CLASSID ? KSPSetFromOptions((KSP)obj) : PCSetFromOptions((PC)obj);
  PetscCall(PetscObjectSetOptions(obj, all));
  PetscCall(PetscOptionsDestroy(&one));
  PetscFunctionReturn(code);
}

#endif
