static char help[] =
  "What is promised where something is short, shared, or broken: an error that names it, or the right answer;\n\
and the next solve is right where one can be.\n\
  -backend (host|cuda) : where to iterate (host)\n\
  -take_all            : case exhausted_all takes all memory of the GPU for a moment, which others must not need\n\n";

#define _GNU_SOURCE /* dladdr() */
#include "check.h"
#include "../src/relaxation/engine.h"
#include "gallery.h"
#include "parts/gpu.h"
#include <dlfcn.h>
#include <petscdevice.h>
#include <pthread.h>

/* malloc() and its like fail for the library once, after so many calls; those of PETSc, MPI and the run times of others
 * go through */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
static long calls_left = -1; /* negative: none fails; */
static int  has_failed;      /* one did */

static int Fails(const void *caller)
{
  Dl_info info;

  if (calls_left < 0 || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libpetscbai")) return 0;
  if (calls_left--) return 0;
  has_failed = 1;
  return 1;
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t bytes)
{
  return Fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
  return Fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
  return Fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, bytes);
}

static PetscBool FailAfter(long calls)
{
  has_failed = 0;
  calls_left = calls;
  return PETSC_TRUE;
}

static PetscBool HasFailed(void)
{
  calls_left = -1;
  return (PetscBool)has_failed;
}
#else /* a sanitizer has a malloc() of its own, which must see all calls */
static PetscBool FailAfter(PETSC_UNUSED long calls)
{
  return PETSC_FALSE;
}

static PetscBool HasFailed(void)
{
  return PETSC_FALSE;
}
#endif

#define GPU(call) \
  do { \
    const char *gpu_error_ = call; \
    PetscCheck(!gpu_error_, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s", #call, gpu_error_); \
  } while (0)

static BAIBackend backend = BAI_BACKEND_HOST;

/* A solver and its system; matrix and vectors are on the host, so that on the device there is nothing but what the
 * library has there */
typedef struct {
  Mat A;
  Vec b, x;
  KSP ksp;
} System;

static PetscErrorCode SystemCreate(const char matrix[], PetscInt n, BAIMethod method, System *s)
{
  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &s->A));
  PetscCall(NewSystem(s->A, &s->x, &s->b));
  PetscCall(NewKSP(s->A, KSPBAI, &s->ksp));
  PetscCall(KSPBAISetBackend(s->ksp, backend));
  PetscCall(KSPBAISetMethod(s->ksp, method));
  PetscCall(KSPSetTolerances(s->ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RelaxationCreate(const char matrix[], PetscInt n, BAIMode mode, System *s)
{
  PetscFunctionBeginUser;
  PetscCall(SystemCreate(matrix, n, BAI_METHOD_RELAXATION, s));
  PetscCall(KSPBAISetMode(s->ksp, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemDestroy(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(MatDestroy(&s->A));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectRight(System *s, const char when[])
{
  PetscReal rnorm;
  PetscBool is;

  PetscFunctionBeginUser;
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscCall(IsConverged(s->ksp, &rnorm, &is));
  PetscCall(Expect(is, "%s a solve is right, to %g", when, (double)rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last CheckCall() failed with this code and these words */
static PetscErrorCode ExpectWords(PetscErrorCode code, PetscErrorCode expected, const char words[], const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(Expect(code == expected && strstr(check_said, words),
                   "%s there is error %d that says \"%s\", not %d, \"%s\"", when, (int)expected, words, (int)code,
                   check_said));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an engine does in the tests of threads and streams: a system of n rows, in host memory, from zero */
typedef struct {
  BAIMode    mode;
  BAIInt     n, *i, *j;
  BAIScalar *a, *b, *x;
  void      *stream;
  BAIEngine  engine;
  BAIReal    norm2;
  BAIStatus  status;
} Job;

enum {
  JOBS  = 6,
  ITS   = 30,
  TIMES = 4 /* that a job is done */
};

static PetscErrorCode JobCreate(int k, Job *job)
{
  const BAIInt line = 60, away[] = {-line, -1, 0, 1, line};

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(job, sizeof(*job)));
  job->mode = k % 2 ? BAI_MODE_COLOR : BAI_MODE_SYNC;
  job->n    = k % 3 == 2 ? 150000 : 3000 + 64 * k; /* large ones do not fit the chip of a device */
  PetscCall(PetscMalloc3(job->n + 1, &job->i, 5 * job->n, &job->j, 5 * job->n, &job->a));
  PetscCall(PetscMalloc2(job->n, &job->b, job->n, &job->x));
  job->i[0] = 0;
  for (BAIInt row = 0; row < job->n; row++) {
    BAIInt at = job->i[row];

    for (int c = 0; c < 5; c++) {
      if (row + away[c] < 0 || row + away[c] >= job->n) continue;
      job->j[at]   = row + away[c];
      job->a[at++] = away[c] ? -1 : (PetscReal)4.5 + (PetscReal)(row % 7);
    }
    job->i[row + 1] = at;
    job->b[row]     = 1 + (PetscReal)(row % 5);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode JobDestroy(Job *job)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(job->i, job->j, job->a));
  PetscCall(PetscFree2(job->b, job->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without PETSc, whose functions are for one thread: the parts of a job up to where something waits for the device */
static BAIStatus Begin(Job *job)
{
  const BAIMatrix M = {
    .n = job->n, .A = {job->i, job->j, job->a},
         .memory = BAI_MEMORY_HOST
  };
  const BAIParameters p = {.mode        = job->mode,
                           .block_size  = 64,
                           .local_iters = 3,
                           .apart       = 1,
                           .local_omega = 1,
                           .threads     = 2,
                           .device      = -1,
                           .stream      = job->stream};
  const BAIVectors    v = {.b = job->b, .x = job->x, .b_memory = BAI_MEMORY_HOST, .x_memory = BAI_MEMORY_HOST};

  BAITry(BAIEngineCreate(backend, &M, NULL, &p, &job->engine));
  return BAIEngineBind(job->engine, &v, 1);
}

static BAIStatus Sweep(Job *job)
{
  const BAIStep step = {.mode = job->mode, .direction = BAI_FORWARD, .omega = 1, .fresh = 1};

  return BAIEngineSweep(job->engine, ITS, &step);
}

static BAIStatus End(Job *job)
{
  BAITry(BAIEngineResidual(job->engine, &job->norm2));
  BAITry(BAIEngineUnbind(job->engine));
  BAIEngineDestroy(&job->engine);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Work(Job *job)
{
  for (int k = 0; k < TIMES; k++) {
    BAITry(Begin(job));
    BAITry(Sweep(job));
    BAITry(End(job));
  }
  return BAIStatusOf(BAI_OK);
}

static void *Thread(void *job)
{
  ((Job *)job)->status = Work((Job *)job);
  return NULL;
}

/* All jobs, whose x is to be those bits, or becomes them if there are none yet */
static PetscErrorCode CompareJobs(Job jobs[], PetscScalar *alone[])
{
  PetscFunctionBeginUser;
  for (int k = 0; k < JOBS; k++) {
    PetscBool same = PETSC_TRUE;

    PetscCheck(!jobs[k].status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "Job %d: %s %s %s", k,
               BAICodeString(jobs[k].status.code), jobs[k].status.what, jobs[k].status.why);
    if (alone[k]) PetscCall(PetscArraycmp(alone[k], (PetscScalar *)jobs[k].x, jobs[k].n, &same));
    else {
      PetscCall(PetscMalloc1(jobs[k].n, &alone[k]));
      PetscCall(PetscArraycpy(alone[k], (PetscScalar *)jobs[k].x, jobs[k].n));
    }
    PetscCall(Expect(same, "job %d has the bits that it has alone", k));
    PetscCall(Expect(jobs[k].norm2 < (PetscReal)1e-3 * (PetscReal)jobs[k].n, "job %d converges, to %g", k,
                     (double)jobs[k].norm2));
    PetscCall(PetscArrayzero((PetscScalar *)jobs[k].x, jobs[k].n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Engines of one thread each, or of one thread that goes back and forth between them; on a device on streams of their
 * own */
static PetscErrorCode TestBeside(PetscBool threads)
{
  Job          jobs[JOBS];
  PetscScalar *alone[JOBS] = {NULL};
  pthread_t    thread[JOBS];

  PetscFunctionBeginUser;
  for (int k = 0; k < JOBS; k++) {
    PetscCall(JobCreate(k, &jobs[k]));
    if (backend == BAI_BACKEND_CUDA) GPU(GPUStreamCreate(&jobs[k].stream));
    jobs[k].status = Work(&jobs[k]);
  }
  PetscCall(CompareJobs(jobs, alone));
  if (threads) {
    for (int k = 0; k < JOBS; k++)
      PetscCheck(!pthread_create(&thread[k], NULL, Thread, &jobs[k]), PETSC_COMM_SELF, PETSC_ERR_SYS, "No thread");
    for (int k = 0; k < JOBS; k++)
      PetscCheck(!pthread_join(thread[k], NULL), PETSC_COMM_SELF, PETSC_ERR_SYS, "Thread does not end");
  } else {
    for (int k = 0; k < JOBS; k++) jobs[k].status = Begin(&jobs[k]);
    for (int k = 0; k < JOBS; k++) jobs[k].status = jobs[k].status.code ? jobs[k].status : Sweep(&jobs[k]);
    for (int k = 0; k < JOBS; k++) jobs[k].status = jobs[k].status.code ? jobs[k].status : End(&jobs[k]);
  }
  PetscCall(CompareJobs(jobs, alone));
  for (int k = 0; k < JOBS; k++) {
    if (backend == BAI_BACKEND_CUDA) GPU(GPUStreamDestroy(jobs[k].stream));
    PetscCall(JobDestroy(&jobs[k]));
    PetscCall(PetscFree(alone[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each call of malloc() in set-up and solve fails once: an error says so, and the solver that has seen it works from
 * then on */
static PetscErrorCode TestMalloc(const char matrix[], const char options[])
{
  PetscBool fails = PETSC_TRUE;
  long      calls = 0;

  PetscFunctionBeginUser;
  for (; fails; calls++) {
    PetscOptions   o;
    System         s;
    PC             pc;
    PetscErrorCode code;

    PetscCall(PetscOptionsCreate(&o));
    PetscCall(PetscOptionsInsertString(o, options));
    PetscCall(RelaxationCreate(matrix, 12, BAI_MODE_ASYNC, &s));
    PetscCall(KSPGetPC(s.ksp, &pc));
    PetscCall(PetscObjectSetOptions((PetscObject)s.ksp, o));
    PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
    PetscCall(KSPSetFromOptions(s.ksp));
    PetscCall(PetscObjectSetOptions((PetscObject)pc, NULL));
    PetscCall(PetscObjectSetOptions((PetscObject)s.ksp, NULL));
    PetscCall(PetscOptionsDestroy(&o));
    if (!FailAfter(calls)) fails = PETSC_FALSE;
    CheckCall(code, KSPSolve(s.ksp, s.b, s.x));
    if (fails) fails = HasFailed();
    if (fails)
      PetscCall(Expect(code == PETSC_ERR_MEM && strstr(check_said, "Out of memory"), "call %ld: error %d, \"%s\"",
                       calls, (int)code, check_said));
    else PetscCall(Expect(!code, "no call fails: error %d, \"%s\"", (int)code, check_said));
    PetscCall(ExpectRight(&s, "after that"));
    PetscCall(SystemDestroy(&s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A system for which the device has no memory, and then has */
static PetscErrorCode TestExhausted(const char *take(void), const char *give_back(void), PetscInt n)
{
  const char *const bytes = " bytes on the device", *const out = "Out of memory on the side of the backend cuda: ";
  System         s, small;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCall(RelaxationCreate("laplace3d", n, BAI_MODE_ASYNC, &s));
  PetscCall(RelaxationCreate("laplace2d", 20, BAI_MODE_ASYNC, &small));
  GPU(take());
  for (int times = 0; times < 2; times++) { /* also if the first one has left something behind */
    CheckCall(code, KSPSolve(s.ksp, s.b, s.x));
    PetscCall(ExpectWords(code, PETSC_ERR_MEM, out, "without memory"));
    PetscCall(Expect(strstr(check_said, bytes) != NULL, "the error says how many bytes: \"%s\"", check_said));
  }
  CheckCall(code, KSPSolve(small.ksp, small.b, small.x)); /* there may be enough for this one */
  if (code) PetscCall(ExpectWords(code, PETSC_ERR_MEM, out, "without memory"));
  else PetscCall(ExpectRight(&small, "in what memory there is"));
  GPU(give_back());
  PetscCall(ExpectRight(&s, "with memory again"));
  PetscCall(ExpectRight(&small, "with memory again"));
  PetscCall(SystemDestroy(&s));
  PetscCall(SystemDestroy(&small));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's stream is captured: solvers refuse, set up or not, and leave the capture as it is; afterwards they work */
static PetscErrorCode TestCapture(int global, BAIMethod method, PetscInt n)
{
  const char *const words = "cannot be captured into a CUDA graph";
  System            s[2]; /* one is set up before, the other is not */
  PC                pc;
  void             *stream = NULL;
  int               device;
  PetscErrorCode    code;

  PetscFunctionBeginUser;
  PetscCall(BAIGetDevice(0, &device, &stream));
  PetscCheck(stream, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The default stream cannot be captured: run with -root_device_context_stream_type nonblocking");
  for (int k = 0; k < 2; k++) PetscCall(SystemCreate("laplace2d", n, method, &s[k]));
  PetscCall(ExpectRight(&s[0], "before"));
  PetscCall(NewPC(s[0].A, PCBAI, &pc));
  PetscCall(PCBAISetBackend(pc, backend));
  PetscCall(PCApply(pc, s[0].b, s[0].x));

  GPU(GPUBeginCapture(stream, global));
  for (int k = 0; k < 2; k++) {
    CheckCall(code, KSPSolve(s[k].ksp, s[k].b, s[k].x));
    PetscCall(ExpectWords(code, PETSC_ERR_SUP, words, "while the stream is captured"));
  }
  CheckCall(code, PCApply(pc, s[0].b, s[0].x));
  PetscCall(ExpectWords(code, PETSC_ERR_SUP, words, "while the stream is captured"));
  GPU(GPUEndCapture(stream)); /* which would fail if something had been in its way */

  for (int k = 0; k < 2; k++) PetscCall(ExpectRight(&s[k], "after the capture"));
  PetscCall(PCApply(pc, s[0].b, s[0].x));
  PetscCall(PCDestroy(&pc));
  for (int k = 0; k < 2; k++) PetscCall(SystemDestroy(&s[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another stream is captured: solvers need not refuse, but what they say is right */
static PetscErrorCode TestCaptureOther(int global)
{
  System         s[2];
  void          *stream = NULL;
  const char    *broken;
  PetscBool      refused = PETSC_FALSE;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) PetscCall(RelaxationCreate("laplace2d", 30, BAI_MODE_ASYNC, &s[k]));
  PetscCall(ExpectRight(&s[0], "before"));
  GPU(GPUStreamCreate(&stream));
  GPU(GPUBeginCapture(stream, global));
  for (int k = 0; k < 2; k++) {
    CheckCall(code, KSPSolve(s[k].ksp, s[k].b, s[k].x));
    if (code) {
      refused = PETSC_TRUE;
      PetscCall(
        ExpectWords(code, PETSC_ERR_SUP, "cannot be captured into a CUDA graph", "while another stream is captured"));
    } else PetscCall(ExpectRight(&s[k], "while another stream is captured"));
  }
  broken = GPUEndCapture(stream);
  PetscCall(Expect(!broken || refused, "the capture goes on: %s", broken));
  GPU(GPUStreamDestroy(stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(ExpectRight(&s[k], "after the capture"));
    PetscCall(SystemDestroy(&s[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc goes over to another stream between two applications, and back */
static PetscErrorCode TestPetscStreams(void)
{
  PetscDeviceContext root, other;
  System             s;
  PC                 pc;
  Vec                y;
  PetscBool          same;
  void              *streams[2] = {NULL};
  int                device;

  PetscFunctionBeginUser;
  PetscCall(RelaxationCreate("laplace2d", 60, BAI_MODE_SYNC, &s));
  PetscCall(VecDuplicate(s.x, &y));
  PetscCall(NewPC(s.A, PCBAI, &pc));
  PetscCall(PCBAISetBackend(pc, backend));
  PetscCall(PCApply(pc, s.b, s.x));
  PetscCall(BAIGetDevice(0, &device, &streams[0]));

  PetscCall(PetscDeviceContextGetCurrentContext(&root));
  PetscCall(PetscDeviceContextCreate(&other));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)other, "other_"));
  PetscCall(PetscDeviceContextSetFromOptions(PETSC_COMM_WORLD, other));
  PetscCall(PetscDeviceContextSetUp(other));
  PetscCall(PetscDeviceContextSetCurrentContext(other));
  PetscCall(BAIGetDevice(0, &device, &streams[1]));
  PetscCheck(streams[0] != streams[1], PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Run with -other_device_context_stream_type nonblocking");
  PetscCall(PCApply(pc, s.b, y));
  PetscCall(VecEqual(s.x, y, &same));
  PetscCall(Expect(same, "an application on another stream gives the bits of the first"));
  PetscCall(ExpectRight(&s, "on another stream"));
  PetscCall(PetscDeviceContextSetCurrentContext(root));
  PetscCall(VecZeroEntries(s.x));
  PetscCall(PCApply(pc, s.b, s.x));
  PetscCall(VecEqual(s.x, y, &same));
  PetscCall(Expect(same, "and again on the first stream"));
  PetscCall(ExpectRight(&s, "on the first stream"));
  PetscCall(PetscDeviceContextDestroy(&other));

  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&y));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A block whose neighbour is at one global iteration for longer than blocks wait: one large block and one small one,
   and very many local sweeps. The engine says so, and with fewer local sweeps goes on
*/
static PetscErrorCode TestStalled(BAIKernel kernel, BAIInt block_size, BAIInt more, BAIInt local_iters)
{
  const BAIParameters p    = {.mode        = BAI_MODE_SYNC,
                              .block_size  = block_size,
                              .local_iters = 2,
                              .apart       = 1,
                              .local_omega = 1,
                              .device      = -1,
                              .kernel      = kernel};
  BAIStep             step = {.mode = BAI_MODE_SYNC, .omega = 1, .fresh = 1, .local_iters = local_iters};
  const BAIInt        n    = block_size + more;
  BAIInt             *i, *j, nnz = 0;
  BAIScalar          *a, *b, *x, *y;
  BAIMatrix           M = {.n = n, .memory = BAI_MEMORY_HOST};
  BAIVectors          v = {.b_memory = BAI_MEMORY_HOST, .x_memory = BAI_MEMORY_HOST};
  BAIEngine           engine;
  BAIReal             norm2;
  BAIStatus           status;
  PetscBool           same;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n + 1, &i, 3 * n, &j, 3 * n, &a));
  PetscCall(PetscMalloc3(n, &b, n, &x, n, &y));
  for (BAIInt row = 0; row < n; row++) {
    i[row] = nnz;
    for (BAIInt col = row - 1; col <= row + 1; col++) {
      if (col < 0 || col >= n) continue;
      j[nnz]   = col;
      a[nnz++] = col == row ? 4 : -1;
    }
    b[row] = 1;
  }
  i[n]   = nnz;
  M.A    = (BAICSR){i, j, a};
  v.b    = b;
  v.x    = x;
  status = BAIEngineCreate(backend, &M, NULL, &p, &engine);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
             status.why);

  status = BAIEngineBind(engine, &v, 1);
  if (!status.code) status = BAIEngineSweep(engine, 2, &step);
  if (!status.code) status = BAIEngineResidual(engine, &norm2);
  PetscCall(
    Expect(status.code == BAI_ERR_STALLED, "a block that waits too long is an error: %s", BAICodeString(status.code)));

  step.local_iters = 0;
  for (int k = 0; k < 2; k++) { /* by this engine, and by a new one */
    v.x    = k ? y : x;
    norm2  = PETSC_MAX_REAL; /* until it is known */
    status = k ? BAIEngineCreate(backend, &M, NULL, &p, &engine) : BAIStatusOf(BAI_OK);
    if (!status.code) status = BAIEngineBind(engine, &v, 1);
    if (!status.code) status = BAIEngineSweep(engine, 20, &step);
    if (!status.code) status = BAIEngineResidual(engine, &norm2);
    if (!status.code) status = BAIEngineUnbind(engine);
    PetscCall(
      Expect(!status.code, "the next sweeps work: %s %s %s", BAICodeString(status.code), status.what, status.why));
    PetscCall(Expect(norm2 < (PetscReal)1e-6 * (PetscReal)n, "and converge, to %g", (double)norm2));
    BAIEngineDestroy(&engine);
  }
  PetscCall(PetscArraycmp((PetscScalar *)x, (PetscScalar *)y, n, &same));
  PetscCall(Expect(same, "they give the bits of a new engine"));
  PetscCall(PetscFree3(i, j, a));
  PetscCall(PetscFree3(b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing works on the device any more: each call is an error that names the backend, and solvers can be destroyed */
static PetscErrorCode TestLost(void)
{
  const char *const words = "Backend cuda (-ksp_bai_backend): ";
  System            s[3]; /* whole solves on the chip, larger ones, and one that is not set up yet */
  PetscErrorCode    code;

  PetscFunctionBeginUser;
  PetscCall(RelaxationCreate("laplace2d", 30, BAI_MODE_ASYNC, &s[0]));
  PetscCall(RelaxationCreate("laplace3d", 50, BAI_MODE_COLOR, &s[1]));
  PetscCall(RelaxationCreate("laplace2d", 30, BAI_MODE_SYNC, &s[2]));
  for (int k = 0; k < 2; k++) PetscCall(ExpectRight(&s[k], "before"));
  GPULose();
  for (int times = 0; times < 2; times++) {
    for (int k = 0; k < 3; k++) {
      CheckCall(code, KSPSolve(s[k].ksp, s[k].b, s[k].x));
      PetscCall(ExpectWords(code, PETSC_ERR_GPU, words, "without a device"));
    }
  }
  for (int k = 0; k < 3; k++) PetscCall(SystemDestroy(&s[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const settings[] = {"-ksp_bai_mode async",
                                  "-ksp_bai_mode sync",
                                  "-ksp_bai_mode color -ksp_bai_partition graph",
                                  "-ksp_bai_mode launch -ksp_bai_partition graph",
                                  "-ksp_bai_mode async -ksp_bai_precision single",
                                  "-ksp_bai_mode sync -ksp_bai_theta -ksp_bai_weight tau",
                                  "-ksp_bai_mode async -ksp_bai_block_size 20",
                                  "-ksp_bai_mode async -ksp_bai_weight tau",
                                  "-ksp_bai_mode async -ksp_bai_weight auto",
                                  "-ksp_bai_mode auto"};
  PetscBool         cuda = PETSC_FALSE, take_all = PETSC_FALSE;
  char              name[16] = "host";

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "cuda", &cuda));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-take_all", &take_all, NULL));
  if (cuda) backend = BAI_BACKEND_CUDA;
  if (Case("threads")) PetscCall(TestBeside(PETSC_TRUE));
  if (Case("interleaved")) PetscCall(TestBeside(PETSC_FALSE));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(settings); k++) {
    if (Case("malloc_%d", (int)k)) PetscCall(TestMalloc("laplace2d", settings[k]));
  }
  if (!cuda && Case("malloc_try"))
    PetscCall(TestMalloc("anisotropic",
                         "-ksp_type fgmres -pc_type bai -pc_bai_block_size 3")); /* looks whether blocks along strong
                                                                                    couplings are better */
  if (cuda && Case("exhausted")) PetscCall(TestExhausted(GPULimitPool, GPUUnlimitPool, 80));
  if (cuda && take_all && Case("exhausted_all")) PetscCall(TestExhausted(GPUTakeAll, GPUGiveBack, 120));
  for (int global = 0; cuda && global < 2; global++) {
    if (Case("capture_other_%s", global ? "global" : "thread")) PetscCall(TestCaptureOther(global));
  }
  /* what takes long, breaks the device, or needs a stream of PETSc's own runs only if it is asked for */
  for (int global = 0; cuda && check.wanted[0] && global < 2; global++) {
    const char *const where = global ? "global" : "thread";

    if (Case("captured_%s", where)) PetscCall(TestCapture(global, BAI_METHOD_RELAXATION, 30));
    if (Case("captured_chip_%s", where)) PetscCall(TestCapture(global, BAI_METHOD_KRYLOV, 30));
    if (Case("captured_levels_%s", where)) PetscCall(TestCapture(global, BAI_METHOD_KRYLOV, 700));
  }
  if (cuda && check.wanted[0] && Case("streams")) PetscCall(TestPetscStreams());
  if (cuda && check.wanted[0] && Case("stalled_generic")) PetscCall(TestStalled(BAI_KERNEL_GENERIC, 60000, 32, 200000));
  if (cuda && check.wanted[0] && Case("lost")) {
    PetscCall(TestLost());
    PetscCallMPI(MPI_Finalize()); /* PetscFinalize() would fail */
    return 0;
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      args: -malloc_dump 0
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         timeoutfactor: 2
         args: -backend cuda -case {{threads interleaved malloc exhausted capture_other}}
      test:
         suffix: streams
         requires: baicuda cuda
         args: -backend cuda -case captured,streams -root_device_context_stream_type nonblocking \
               -other_device_context_stream_type nonblocking
      test:
         suffix: stalled
         requires: baicuda
         timeoutfactor: 3
         args: -backend cuda -case stalled
      test:
         suffix: lost
         requires: baicuda
         args: -backend cuda -case lost

TEST*/
