/* The choices of a relaxation: the meaning of its options for this matrix and rank */
#include "../petsc/baiimpl.h"
#include "tuning.h"
#include <float.h>

/* The refinement that the options ask for, or that auto stands for */
BAIRefine BAIRefineOf(const BAIOptions *o)
{
  if (o->refine != BAI_REFINE_AUTO) return o->refine;
  return o->precision == BAI_PRECISION_SINGLE ? BAI_REFINE_SYNC : BAI_REFINE_NONE;
}

/* The mode that the options ask for, or that auto stands for as far as it is known */
static BAIMode ModeNow(const BAI *bai)
{
  const BAIOptions *o = &bai->options;

  if (o->mode != BAI_MODE_AUTO) return o->mode;
  if (bai->face->solves) return BAI_MODE_ASYNC;
  return bai->relax.crowded ? BAI_MODE_SYNC : BAI_MODE_COLOR;
}

/* The mode in use, or the mode of the next set-up */
BAIMode BAIModeOf(const BAI *bai)
{
  return bai->relax.engine ? bai->relax.use.p.mode : ModeNow(bai);
}

/* The distance from 1 to the next number in the precision of the sweeps */
PetscReal BAIEpsilonOf(const BAI *bai)
{
  return bai->relax.use.p.single ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
}

/* Whether the weight in use is tau or auto: omega is then multiplied by relax.tau, which set-up finds, and which auto
   limits to 1. Valid after a set-up */
PetscBool BAIUsesTau(const BAI *bai)
{
  return (PetscBool)(bai->relax.use.weight == BAI_WEIGHT_TAU || bai->relax.use.weight == BAI_WEIGHT_AUTO);
}

/* Whether global iterations of an application are weighted by a polynomial */
PetscBool BAIUsesPolynomial(const BAI *bai)
{
  const BAIOptions *o = &bai->options;

  return (PetscBool)(!bai->face->solves && BAIModeOf(bai) == BAI_MODE_SYNC && o->polynomial == BAI_POLYNOMIAL_AUTO &&
                     o->omega == 1.0 && !BAIUsesTau(bai));
}

/*
   Finds for mode auto of a smoother whether mode color would leave most of a device waiting: rows are so long that
   nearly all blocks read from each other, or A is a product P^T A P, a coarse level of multigrid, where few blocks have
   the same colour
*/
PetscErrorCode BAILookIfCrowded(BAI *bai, Mat A)
{
  MatInfo        info;
  MatProductType product;

  PetscFunctionBegin;
  bai->relax.crowded = PETSC_FALSE;
  if (bai->options.mode != BAI_MODE_AUTO || bai->face->solves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatProductGetType(A, &product));
  bai->relax.crowded = (PetscBool)(info.nz_used > BAI_LONG_ROW * (PetscLogDouble)bai->relax.rows ||
                                   product == MATPRODUCT_PtAP);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the fields of the faults to simulate; row is the first row of this rank. Padding stays as it is, as choices are
   compared as a whole */
static void ChooseFaults(const BAIOptions *o, BAIInt row, BAIFault *fault)
{
  const BAIInt at = (BAIInt)o->fault_at, recover = (BAIInt)o->fault_recover;

  fault->fraction = o->fault_fraction;
  if (!(o->fault_fraction > 0.0)) return;
  fault->first = at;
  fault->last  = recover && recover < BAI_INT_MAX - at ? at + recover : BAI_INT_MAX;
  fault->seed  = (BAIInt)o->fault_seed;
  fault->row   = row;
}

/* Sets refine and p of a choice, which has its backend, weight and block size */
static PetscErrorCode GetParameters(const BAI *bai, BAIChoice *c)
{
  const BAIOptions *o = &bai->options;
  BAIParameters    *p = &c->p;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &size));
  c->refine = BAIRefineOf(o);
  PetscCall(PetscMemzero(p, sizeof(*p))); /* padding too, as choices are compared as a whole */
  p->mode        = ModeNow(bai);
  p->block_size  = (BAIInt)c->block_size;
  p->local_iters = o->local_iters;
  p->local_omega = c->weight == BAI_WEIGHT_TAU || c->weight == BAI_WEIGHT_AUTO
    ? 0
    : o->local_omega; /* 0: local sweeps converge, which tau presupposes */
  p->momentum    = o->momentum > 0.0                                                            ? 1
       : p->mode == BAI_MODE_SYNC && !bai->face->solves && o->polynomial != BAI_POLYNOMIAL_NONE ? 2
                                                                                                : 0;
  p->l1          = c->weight == BAI_WEIGHT_L1;
  p->apart       = bai->relax.rows / size < BAI_FEW_ROWS ? 1 : BAI_MOST_APART;
  p->single      = o->precision == BAI_PRECISION_SINGLE;
  p->refined     = c->refine == BAI_REFINE_ASYNC;
  p->unit        = bai->relax.unit;
  p->theta       = (int)o->theta;
  p->kernel      = o->kernel;
  p->stats       = (int)o->stats;
  p->idle_wait   = (int)o->idle_wait;
  ChooseFaults(o, (BAIInt)bai->relax.first, &p->fault);
  if (c->backend == BAI_BACKEND_CUDA) PetscCall(BAIGetDevice(bai->node.rank, &p->device, &p->stream));
  else PetscCall(BAIGetThreads(bai, &p->threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the choices of a set-up on this rank. Ad has the local rows and columns of the matrix */
PetscErrorCode BAIChoose(const BAI *bai, Mat Ad, BAIChoice *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->backend   = bai->options.backend;
  c->partition = BAIPartitionOf(bai);
  c->exchange  = bai->options.exchange;
  c->weight    = bai->options.weight;
  if (c->backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, &c->backend));
  PetscCall(BAIChooseBlockSize(bai, Ad, &c->block_size));
  PetscCall(GetParameters(bai, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
