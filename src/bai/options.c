/*
   The options that every face of block-asynchronous iteration has, and what they may be
*/
#include "baiimpl.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

const char *const BAIModes[]    = {"async", "launch", "sync", "color", "BAIMode", "BAI_MODE_", NULL};
const char *const BAIBackends[] = {"auto", "host", "cuda", "BAIBackend", "BAI_BACKEND_", NULL};
const char *const BAIWeights[]  = {"none", "l1", "tau", "auto", "BAIWeight", "BAI_WEIGHT_", NULL};

const char *const BAIPrecisions[]     = {"native", "single", "BAIPrecision", "BAI_PRECISION_", NULL};
const char *const BAIPartitionTypes[] = {"auto", "natural", "dm", "rcm", "graph", "BAIPartitionType", "BAI_PARTITION_", NULL};

static const char *FaceName(PetscObject obj)
{
  return obj->classid == KSP_CLASSID ? "ksp" : "pc";
}

/* Data of a KSPBAI or PCBAI with the default options: undamped local sweeps solve, damped ones smooth, and best if blocks take turns */
PetscErrorCode BAICreate(PetscObject obj, BAI **bai)
{
  const PetscBool ksp = (PetscBool)(obj->classid == KSP_CLASSID);
  BAIOptions     *o;

  PetscFunctionBegin;
  PetscCall(PetscNew(bai));
  (*bai)->face      = obj;
  (*bai)->tau       = 1.0;
  o                 = &(*bai)->options;
  o->local_iters    = 5;
  o->block_size     = 0;
  o->overlap        = 0;
  o->check_interval = 0;
  o->its            = 2;
  o->symmetric      = PETSC_FALSE;
  o->mode           = ksp ? BAI_MODE_ASYNC : BAI_MODE_COLOR;
  o->backend        = BAI_BACKEND_AUTO;
  o->partition      = BAI_PARTITION_AUTO;
  o->weight         = BAI_WEIGHT_NONE;
  o->theta          = PETSC_FALSE;
  o->staleness      = -1;
  o->precision      = BAI_PRECISION_NATIVE;
  o->momentum       = ksp ? PETSC_DECIDE : 0.0;
  o->omega          = 1.0;
  o->local_omega    = ksp ? 1.0 : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of a KSP or PC, or NULL if it is not one of ours */
PetscErrorCode BAIGet(PetscObject obj, BAI **bai)
{
  PetscBool is_bai;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(obj, obj->classid == KSP_CLASSID ? KSPBAI : PCBAI, &is_bai));
  *bai = is_bai ? (BAI *)(obj->classid == KSP_CLASSID ? ((KSP)obj)->data : ((PC)obj)->data) : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options, and after set-up what was chosen where they leave a choice */
PetscErrorCode BAIOptionsInUse(PetscObject obj, BAIOptions *options)
{
  BAI *bai = NULL;

  PetscFunctionBegin;
  PetscCall(BAIGet(obj, &bai));
  PetscCheck(bai, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "The %s is of type %s, which has no such option: must be bai", FaceName(obj), obj->type_name ? obj->type_name : "(not set)");
  *options = bai->options;
  if (bai->engine) {
    options->block_size = (PetscInt)bai->info.block_size;
    options->backend    = bai->use.backend;
    options->partition  = bai->use.partition;
    if (!bai->options.local_omega) options->local_omega = (PetscReal)bai->info.local_omega;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "-<prefix>ksp_bai_<option>", as users type it */
static PetscErrorCode OptionName(PetscObject obj, const char option[], char name[], size_t len)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(obj, &prefix));
  PetscCall(PetscSNPrintf(name, len, "-%s%s_bai_%s", prefix ? prefix : "", FaceName(obj), option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAtLeast(PetscObject obj, const char option[], PetscInt value, PetscInt least, const char meaning[])
{
  char name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(OptionName(obj, option, name, sizeof(name)));
  PetscCheck(value >= least, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT ": must be at least %" PetscInt_FMT "%s", name, value, least, meaning);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckPositive(PetscObject obj, const char option[], PetscReal value, const char meaning[])
{
  char name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(OptionName(obj, option, name, sizeof(name)));
  PetscCheck(value > 0 && !PetscIsInfOrNanReal(value), PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %g: must be a positive number%s", name, (double)value, meaning);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* word is what the user typed, or NULL if it came as a number */
static PetscErrorCode CheckEnum(PetscObject obj, const char option[], const char word[], PetscInt value, const char *const names[])
{
  char     name[PETSC_MAX_OPTION_NAME], number[16], allowed[128] = "";
  PetscInt n;

  PetscFunctionBegin;
  for (n = 0; names[n + 2]; n++) {
    if (n) PetscCall(PetscStrlcat(allowed, ", ", sizeof(allowed)));
    PetscCall(PetscStrlcat(allowed, names[n], sizeof(allowed)));
  }
  PetscCall(OptionName(obj, option, name, sizeof(name)));
  PetscCall(PetscSNPrintf(number, sizeof(number), "%" PetscInt_FMT, value));
  PetscCheck(value >= 0 && value < n, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %s: must be one of %s", name, word ? word : number, allowed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only a KSP sees residuals, from which momentum is found */
static PetscErrorCode CheckMomentum(PetscObject obj, PetscReal momentum)
{
  char name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(OptionName(obj, "momentum", name, sizeof(name)));
  if (momentum == PETSC_DECIDE && obj->classid == KSP_CLASSID) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(momentum >= 0 && momentum < 1, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE, "%s %g: must be at least 0 and less than 1%s", name, (double)momentum, obj->classid == KSP_CLASSID ? ", or auto" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All values are in their ranges, or an error names the option, the value and what is allowed */
PetscErrorCode BAIOptionsCheck(PetscObject obj, const BAIOptions *o)
{
  PetscFunctionBegin;
  PetscCall(CheckAtLeast(obj, "local_iters", o->local_iters, 1, ""));
  PetscCall(CheckAtLeast(obj, "block_size", o->block_size, 0, " (0: chosen at set-up)"));
  PetscCall(CheckAtLeast(obj, "overlap", o->overlap, 0, ""));
  PetscCall(CheckAtLeast(obj, "check_interval", o->check_interval, 0, " (0: chosen while iterating)"));
  PetscCall(CheckAtLeast(obj, "its", o->its, 1, ""));
  PetscCall(CheckAtLeast(obj, "staleness", o->staleness, -1, " (-1: unbounded)"));
  PetscCall(CheckPositive(obj, "omega", o->omega, ""));
  if (o->local_omega != 0.0) PetscCall(CheckPositive(obj, "local_omega", o->local_omega, ", or 0 (chosen at set-up)"));
  PetscCall(CheckMomentum(obj, o->momentum));
  PetscCall(CheckEnum(obj, "mode", NULL, (PetscInt)o->mode, BAIModes));
  PetscCall(CheckEnum(obj, "weight", NULL, (PetscInt)o->weight, BAIWeights));
  PetscCall(CheckEnum(obj, "partition", NULL, (PetscInt)o->partition, BAIPartitionTypes));
  PetscCall(CheckEnum(obj, "precision", NULL, (PetscInt)o->precision, BAIPrecisions));
  PetscCall(CheckEnum(obj, "backend", NULL, (PetscInt)o->backend, BAIBackends));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At set-up, when all of them are known: they go together */
PetscErrorCode BAIOptionsCheckTogether(PetscObject obj, const BAIOptions *o)
{
  char staleness[PETSC_MAX_OPTION_NAME], mode[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  if (o->staleness >= 0 && o->mode != BAI_MODE_ASYNC) {
    PetscCall(OptionName(obj, "staleness", staleness, sizeof(staleness)));
    PetscCall(OptionName(obj, "mode", mode, sizeof(mode)));
    SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_INCOMP, "%s %" PetscInt_FMT " with %s %s: must be -1 but for mode async", staleness, o->staleness, mode, BAIModes[o->mode]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PetscOptionsEnum(), but an unknown word is met with the list of the known ones */
static PetscErrorCode OptionsEnum(PetscObject obj, const char option[], const char text[], const char man[], const char *const names[], PetscInt *value, BAIOptionItems PetscOptionsObject)
{
  char      name[PETSC_MAX_OPTION_NAME], word[64];
  PetscInt  n = 0;
  PetscBool set, known = PETSC_TRUE;
  PetscEnum e = (PetscEnum)*value;

  PetscFunctionBegin;
  PetscCall(OptionName(obj, option, name, sizeof(name)));
  PetscCall(PetscOptionsGetString(obj->options, NULL, name, word, sizeof(word), &set));
  if (set) {
    for (known = PETSC_FALSE; names[n + 2] && !known; n++) PetscCall(PetscStrcasecmp(word, names[n], &known));
    if (!known) PetscCall(CheckEnum(obj, option, word, -1, names));
  }
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%s_bai_%s", FaceName(obj), option));
  PetscCall(PetscOptionsEnum(name, text, man, names, e, &e, NULL));
  *value = (PetscInt)e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number or, for a KSP, auto */
static PetscErrorCode OptionsMomentum(PetscObject obj, PetscReal *momentum, BAIOptionItems PetscOptionsObject)
{
  const PetscBool ksp = (PetscBool)(obj->classid == KSP_CLASSID);
  char            name[PETSC_MAX_OPTION_NAME], now[32], word[32], *end;
  PetscBool       set, is_auto = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%g", (double)*momentum));
  PetscCall(PetscOptionsString(ksp ? "-ksp_bai_momentum" : "-pc_bai_momentum", ksp ? "Part of the last step in the next, at least 0 and less than 1, or auto" : "Part of the last step in the next, at least 0 and less than 1", ksp ? "KSPBAISetMomentum" : "PCBAISetMomentum", *momentum == PETSC_DECIDE ? "auto" : now, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp) PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  *momentum = is_auto ? PETSC_DECIDE : (PetscReal)strtod(word, &end);
  if (is_auto || (end != word && !*end)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(OptionName(obj, "momentum", name, sizeof(name)));
  SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "%s %s: must be at least 0 and less than 1%s", name, word, ksp ? ", or auto" : "");
}

/* Reads the options into a copy, so that a wrong one changes nothing */
PetscErrorCode BAIOptionsSetFromOptions(PetscObject obj, BAIOptions *options, BAIOptionItems PetscOptionsObject)
{
  BAIOptions o   = *options;
  PetscBool  ksp = (PetscBool)(obj->classid == KSP_CLASSID);
  PetscInt   e;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt(ksp ? "-ksp_bai_local_iters" : "-pc_bai_local_iters", "Jacobi sweeps in a block per global iteration", ksp ? "KSPBAISetLocalIters" : "PCBAISetLocalIters", o.local_iters, &o.local_iters, NULL));
  PetscCall(PetscOptionsInt(ksp ? "-ksp_bai_block_size" : "-pc_bai_block_size", "Rows of a block, 0 to have it chosen", ksp ? "KSPBAISetBlockSize" : "PCBAISetBlockSize", o.block_size, &o.block_size, NULL));
  e = (PetscInt)o.mode;
  PetscCall(OptionsEnum(obj, "mode", "How blocks wait for each other", ksp ? "KSPBAISetMode" : "PCBAISetMode", BAIModes, &e, PetscOptionsObject));
  o.mode = (BAIMode)e;
  PetscCall(PetscOptionsReal(ksp ? "-ksp_bai_omega" : "-pc_bai_omega", "Damping of a block's update", ksp ? "KSPBAISetOmega" : "PCBAISetOmega", o.omega, &o.omega, NULL));
  PetscCall(PetscOptionsReal(ksp ? "-ksp_bai_local_omega" : "-pc_bai_local_omega", "Damping of each local sweep, 0 to have it chosen", ksp ? "KSPBAISetLocalOmega" : "PCBAISetLocalOmega", o.local_omega, &o.local_omega, NULL));
  PetscCall(OptionsMomentum(obj, &o.momentum, PetscOptionsObject));
  e = (PetscInt)o.weight;
  PetscCall(OptionsEnum(obj, "weight", "What makes it converge where Jacobi does not", ksp ? "KSPBAISetWeight" : "PCBAISetWeight", BAIWeights, &e, PetscOptionsObject));
  o.weight = (BAIWeight)e;
  PetscCall(PetscOptionsBool(ksp ? "-ksp_bai_theta" : "-pc_bai_theta", "Local sweeps depend on the block", ksp ? "KSPBAISetTheta" : "PCBAISetTheta", o.theta, &o.theta, NULL));
  PetscCall(PetscOptionsInt(ksp ? "-ksp_bai_staleness" : "-pc_bai_staleness", "Global iterations that a block may be ahead of those it reads from, -1 for any number", ksp ? "KSPBAISetStaleness" : "PCBAISetStaleness", o.staleness, &o.staleness, NULL));
  e = (PetscInt)o.precision;
  PetscCall(OptionsEnum(obj, "precision", "In which precision sweeps read the matrix", ksp ? "KSPBAISetPrecision" : "PCBAISetPrecision", BAIPrecisions, &e, PetscOptionsObject));
  o.precision = (BAIPrecision)e;
  e = (PetscInt)o.partition;
  PetscCall(OptionsEnum(obj, "partition", "How rows become blocks", ksp ? "KSPBAISetPartition" : "PCBAISetPartition", BAIPartitionTypes, &e, PetscOptionsObject));
  o.partition = (BAIPartitionType)e;
  PetscCall(PetscOptionsInt(ksp ? "-ksp_bai_overlap" : "-pc_bai_overlap", "Steps of the matrix graph by which blocks are extended", ksp ? "KSPBAISetOverlap" : "PCBAISetOverlap", o.overlap, &o.overlap, NULL));
  if (ksp) PetscCall(PetscOptionsInt("-ksp_bai_check_interval", "Global iterations between residual norms, 0 to have it chosen", "KSPBAISetCheckInterval", o.check_interval, &o.check_interval, NULL));
  else {
    PetscCall(PetscOptionsInt("-pc_bai_its", "Global iterations per application", "PCBAISetIterations", o.its, &o.its, NULL));
    PetscCall(PetscOptionsBool("-pc_bai_symmetric", "Smooth backward where the guess is not zero", "PCBAISetSymmetric", o.symmetric, &o.symmetric, NULL));
  }
  e = (PetscInt)o.backend;
  PetscCall(OptionsEnum(obj, "backend", "Where the iteration runs", ksp ? "KSPBAISetBackend" : "PCBAISetBackend", BAIBackends, &e, PetscOptionsObject));
  o.backend = (BAIBackend)e;
  PetscCall(BAIOptionsCheck(obj, &o));
  *options = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}
