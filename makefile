# petsc-bai: make demo, make check; make help lists the rest
#
# PETSC_DIR [PETSC_ARCH] choose a PETSc, else pkg-config does. NVCC= builds without CUDA, OPENMP= without threads on
# the host, SANITIZE=1 with gcc's sanitizers. PYTHON is one that has this PETSc's petsc4py, for the tests. HYPRE_DIR is
# a hypre for make multigrid. V=1 shows the commands

# On all cores, unless -j says how many, here or in the environment's MAKEFLAGS
ifeq ($(MAKELEVEL)$(filter j% -j% --jobs%,$(shell echo "$$MAKEFLAGS")),0)
  MAKEFLAGS += -j$(shell env -u OMP_NUM_THREADS nproc)
endif
# Goals that run a make of their own in the same build/ do not run beside others
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(filter check test bundle matrix clean,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

ifneq ($(word 2,$(CURDIR)),)
  ifneq ($(filter check test run-% bundle carry matrix,$(MAKECMDGOALS)),)
    $(error PETSc's test harness cannot run where a path has a space in it, \
      here $(CURDIR): make demo and make install can)
  endif
endif

without_petsc := help clean options format checkformat spell matrix performance experiments-page checkdocs docs
ifneq ($(filter-out $(without_petsc),$(or $(MAKECMDGOALS),all)),)

ifneq ($(PETSC_DIR),)
  petsc.pc := $(firstword $(wildcard $(addprefix $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig/,petsc.pc PETSc.pc)))
  ifeq ($(petsc.pc),)
    $(error no PETSc in PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH): \
      there is no lib/pkgconfig/petsc.pc or PETSc.pc. They must name a PETSc that is built; \
      without them the one that pkg-config knows is used)
  endif
  ifeq ($(shell command -v pkg-config),)
    $(error pkg-config is needed to use PETSC_DIR=$(PETSC_DIR), and is not installed)
  endif
else
  ifneq ($(PETSC_ARCH),)
    $(error PETSC_ARCH=$(PETSC_ARCH) without a PETSC_DIR names no PETSc: set both or none)
  endif
  petsc.pc := $(firstword $(foreach p,petsc PETSc,$(shell pkg-config --exists $(p) 2>/dev/null && echo $(p))))
endif

ifeq ($(petsc.pc),)

# No PETSc yet: get Debian's, then do what was asked for
.DEFAULT_GOAL := all
all demo check test install:
	@if [ -n "$(GOT_PETSC)" ]; then \
	  echo 'Debian has PETSc installed, but pkg-config does not find it:' \
	    'PKG_CONFIG_PATH and PKG_CONFIG_LIBDIR must be as usual'; exit 1; fi
	@config/petsc.sh debian 'PETSC_DIR is not set, and pkg-config knows no PETSc' >/dev/null
	@$(MAKE) --no-print-directory GOT_PETSC=1 $@
no_petsc := PETSC_DIR is not set, and pkg-config knows no PETSc: set PETSC_DIR, or let make demo install Debian's
.DEFAULT bench clients experiments bundle tidy cppcheck coverage fuzz fuzz-mtx soak: ; $(error $(no_petsc))
.PHONY: all demo check test install bench clients experiments bundle tidy cppcheck coverage fuzz fuzz-mtx soak

else

pc           = $(shell pkg-config $(1) $(petsc.pc))
PETSC_PREFIX := $(abspath $(call pc,--variable=prefix))
PETSCCONF_H  := $(PETSC_PREFIX)/include/petscconf.h
PETSC_ROOT   := $(shell awk -F'"' '/define PETSC_DIR /{print $$2}' $(PETSCCONF_H))
VERSION      := $(shell awk '/define PETSCBAI_VERSION_/{v = v s $$3; s = "."} END{print v}' include/petscbai.h)

CC         := $(call pc,--variable=ccompiler)
FC         := $(call pc,--variable=fcompiler)
CFLAGS     ?= $(call pc,--variable=cflags_extra) -O3 -Wall -Wextra
OPENMP     ?= -fopenmp
CPPFLAGS   := $(if $(OPENMP),,-Isrc/common/serial -Wno-unknown-pragmas) \
  -Iinclude $(call pc,--cflags) $(call pc,--variable=cudainclude)
PETSC_LIB  := -Wl,--as-needed $(call pc,--libs) -Wl,-rpath,$(call pc,--variable=libdir) -lm

# nvcc: that of a PETSc with CUDA, else the one in PATH, else the usual place
cuda_petsc := $(shell grep -q 'HAVE_CUDA 1' $(PETSCCONF_H) && echo cuda)
NVCC       ?= $(firstword $(if $(cuda_petsc),$(call pc,--variable=cudacompiler)) \
  $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
NVCC       := $(NVCC)
GPU        ?= $(if $(NVCC),$(shell nvidia-smi -L 2>/dev/null | grep -c ^GPU))
on_gpu     := $(filter-out 0,$(GPU))
# A demo where there is no GPU does not wait for nvcc
no_cuda    := $(if $(on_gpu)$(CUDA_ARCH)$(filter-out demo,$(or $(MAKECMDGOALS),all)),,$(NVCC))
ifneq ($(no_cuda),)
  NVCC     :=
endif
CUDA_HOME  ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# Code for the GPU here, else for 8.x and 9.0; and, of the last, what the driver compiles for those to come
ifeq ($(CUDA_ARCH),)
  capabilities := nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
    sed -n 's/^\([0-9][0-9]*\)\.\([0-9]\)$$/\1\2/p' | awk '$$1 >= 80' | sort -nu
  CUDA_ARCH := $(or $(if $(NVCC),$(shell $(capabilities))),80 90)
endif
gencode     = arch=compute_$(1),code=$(if $(filter $(1),$(lastword $(CUDA_ARCH))),[compute_$(1)$(comma)sm_$(1)],sm_$(1))
NVCCFLAGS  ?= $(or $(if $(cuda_petsc),$(filter-out -std=%,$(call pc,--variable=cudaflags_extra))),-O3 \
  $(foreach a,$(CUDA_ARCH),-gencode $(call gencode,$(a)))) -std=c++17
comma      := ,
ifneq ($(NVCC),)
  CUDA_LIB := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart -lstdc++
endif

variant := $(if $(NVCC),,-nocuda)$(if $(OPENMP),,-noopenmp)$(if $(SANITIZE),-sanitize)$(if $(COVERAGE),-coverage)
ARCH := $(notdir $(patsubst %/,%,$(dir $(PETSC_PREFIX))))-$(notdir $(PETSC_PREFIX))$(variant)
ifneq ($(SANITIZE),)
  CFLAGS  += -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
  LDFLAGS += -fsanitize=address,undefined
else
  LDFLAGS += -Wl,--no-undefined
endif
ifneq ($(COVERAGE),)
  CFLAGS  += -O1 -g --coverage
  LDFLAGS += --coverage
endif
B    := build/$(ARCH)
LIB  := $(B)/lib/libpetscbai.so
SYM  := PetscDLLibraryRegister_petscbai

# Units of CUDA, first those that take longest to compile
units   := $(patsubst %,src/%.cu,relaxation/cuda/generic relaxation/cuda/stream)
units   += $(filter-out $(units),$(wildcard src/*/*.cu src/*/cuda/*.cu))

# HYPRE_DIR: a hypre with CUDA for bench/multigrid to compare with, as config/hypre.sh builds one
ifneq ($(HYPRE_DIR),)
  ifeq ($(wildcard $(HYPRE_DIR)/include/HYPRE.h),)
    $(error HYPRE_DIR=$(HYPRE_DIR) has no include/HYPRE.h: it must name what hypre was installed into)
  endif
  hypre     := $(if $(and $(NVCC),$(cuda_petsc)),$(abspath $(HYPRE_DIR)))
  HYPRE_LIB := $(if $(hypre),-L$(hypre)/lib -Wl$(comma)-rpath$(comma)$(hypre)/lib -lHYPRE)
endif

# Files that use PETSc's objects, and the engine, which does not. This is the one place that knows whether there is
# CUDA
petsc   := $(addprefix src/relaxation/,blocks.c choose.c ghosts.c refine.c renew.c run.c setup.c \
  turns.c weight.c) \
  $(addprefix src/multigrid/,hierarchy.c units.c apply.c fields.c points.c interleave.c modes.c ranks.c rest.c \
    transfer.c gathered.c stage.c) \
  $(addprefix src/research/,faults.c stats.c)
engine  := $(filter-out $(petsc),$(wildcard $(patsubst %,src/%/*.c,common relaxation multigrid research */host))) \
  $(if $(NVCC),$(units),src/relaxation/cuda/cuda_none.c)
faces   := $(petsc) $(wildcard src/petsc/*.c src/ksp/bai/*.c src/pc/*/*.c src/*/*/generated/*.c)
gallery := tutorials/gallery.c tutorials/now.c tutorials/matrixmarket.c tutorials/smoothers.c \
  $(filter-out %_none.c %/hypre.c,$(wildcard bench/parts/*.c)) \
  bench/parts/crs$(if $(NVCC),.cu,_none.c) \
  bench/parts/hypre$(if $(hypre),,_none).c \
  tests/parts/drawn.c tests/parts/systems.c tests/parts/gpu$(if $(NVCC),.cu,_none.c)
obj      = $(patsubst %,$(B)/obj/%.o,$(1))
quiet    = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2) && )

all: $(LIB)
	@echo 'petsc-bai $(VERSION) for PETSc $(call pc,--modversion) in $(PETSC_PREFIX),' \
	  '$(if $(NVCC),CUDA by $(NVCC),no nvcc so without CUDA): $(LIB)'
	@echo 'use it in any PETSc program: -dll_append $(CURDIR)/$(LIB) -ksp_type bai'

$(B)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) -c -fPIC -fvisibility=hidden -MMD -MP $(CFLAGS) $(OPENMP) $(CPPFLAGS) $< -o $@
# What ptxas says of the kernels is kept for make kernels
nvcc = $(NVCC) -c -Xcompiler -fPIC,-fvisibility=hidden -MMD -MP -MF $(@:.o=.d) --resource-usage $(NVCCFLAGS) \
  $(UNFUSED) -Iinclude $(call pc,--cflags-only-I) $< -o $@ 2>$(@:.o=.log) || { cat $(@:.o=.log) >&2; exit 1; }; \
  grep -v -e '^ptxas info' -e 'bytes stack frame' $(@:.o=.log) >&2 || :
$(B)/obj/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call quiet,NVCC,$<)$(nvcc)

# Sums of the coarse matrices have the bits of those of the host, which does not fuse products and sums
$(patsubst %,$(B)/obj/src/multigrid/cuda/%.cu.o,galerkin longrows nearnull place soften): UNFUSED = -fmad=false

# The kernels of each unit, their registers and spills
kernels: $(LIB)
	@$(if $(NVCC),sh tests/kernels.sh report $(patsubst %.o,%.log,$(call obj,$(units))),echo 'without nvcc there are none')

# nodelete: OpenMP's threads may outlive a dlclose()
$(LIB): $(call obj,$(engine) $(faces))
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete $(LDFLAGS) \
	  $(OPENMP) $^ -o $@ $(PETSC_LIB) $(CUDA_LIB)
	@nm -D --defined-only $@ | grep -q ' T $(SYM)$$' || { echo "$@ does not export $(SYM)"; rm -f $@; exit 1; }

$(call obj,$(wildcard bench/parts/*.c tests/parts/*.c)): CPPFLAGS += -Itutorials -Isrc/petsc

$(B)/libengine.a: $(call obj,$(engine)) ; $(call quiet,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(B)/libgallery.a: $(call obj,$(gallery)) $(B)/hypre_dir ; $(call quiet,AR,$@)rm -f $@; $(AR) rcs $@ $(filter %.o,$^)

# Which hypre it was last time
$(B)/hypre_dir: FORCE
	@mkdir -p $(@D)
	@echo '$(hypre)' | cmp -s - $@ || echo '$(hypre)' >$@
$(call obj,bench/parts/hypre.c): $(B)/hypre_dir
$(call obj,bench/parts/hypre.c): CPPFLAGS += -I$(hypre)/include
$(B)/tests/bench/multigrid: MORE_LIB = $(HYPRE_LIB)

# Programs: each tests/*.c and tutorials/*.c with a main, linked with the library, the gallery, and for the tests the
# engine itself
LINK = -L$(B)/lib -Wl,-rpath,'$(CURDIR)/$(B)/lib' -lpetscbai
$(B)/tests/%: %.c $(LIB) $(B)/libgallery.a $(B)/libengine.a $(wildcard tests/*.h tests/parts/*.h tutorials/*.h)
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(CFLAGS) $(OPENMP) $(CPPFLAGS) -Itutorials -Isrc/petsc $(LDFLAGS) $< -o $@ \
	  $(B)/libgallery.a $(LINK) $(B)/libengine.a $(MORE_LIB) $(PETSC_LIB) $(CUDA_LIB)

# Those in Fortran load the library by -dll_append
$(B)/tests/%: %.F90 $(LIB)
	@mkdir -p $(@D)
	$(call quiet,FC,$<)$(FC) $(call pc,--variable=fflags_extra) $(call pc,--cflags) $(LDFLAGS) $< -o $@ $(PETSC_LIB)

# The solver beside CG with PETSc's preconditioners on 10^6 points; on a GPU again, with the smoother beside PETSc's;
# without a GPU what one took
demo: $(B)/tests/tutorials/ex1
ifneq ($(no_cuda),)
	@echo 'there is no GPU here, so the demo is built without CUDA; make all builds with it, by $(no_cuda)'
endif
	$< $(demo) -compare $(ARGS)
ifneq ($(on_gpu),)
	$< $(demo) $(ARGS) \
	  $(if $(cuda_petsc),-mat_type aijcusparse -compare -multigrid -da_refine 2,-ksp_bai_backend cuda)
else
	@awk -F, '$$4 == "laplace3d" && $$5 == 1000000 && ($$6 == "bai" || $$6 == "jacobi") { \
	  of = of sprintf("%s %.1f + %.1f ms", n++ ? ", cg+jacobi" : "bai", $$9, $$11); on = $$1 } \
	  END { print "On one " on " this system takes, set-up + solve: " of }' docs/data/multigrid.csv
endif
demo = -matrix laplace3d -n 100

# Times next to PETSc's solvers, and a picture of them if there is matplotlib; GPU=1 on the GPU; ARGS= passes options
BENCH_HOST = -matrix fv1,fv3,trefethen,trefethen,laplace3d,laplace3d27,chem97ztz-like,powerlaw \
  -n 0,0,2000,20000,32,24 -seconds 0.5
bench_some  = fv1,fv3,trefethen,trefethen,helmholtz,anisotropic,chem97ztz-like,powerlaw
bench_large = laplace3d,laplace3d,laplace3d27,laplace3d,laplace2d,powerlaw
BENCH_GPU  = -matrix $(bench_some),$(bench_large) -n 0,0,2000,20000,100,100,0,0,48,100,100,200,1000,1000000 \
  -seconds 0.2 -rtol 1e-10 -without chebyshev,richardson-sor,bai-async-2
BENCH_ARGS = $(or $(ARGS),$(if $(on_gpu),$(BENCH_GPU),$(BENCH_HOST)))
COMMIT ?= $(or $(shell git describe --always --dirty --exclude='*' 2>/dev/null),unknown)
DEVICE ?= $(shell $(if $(on_gpu),nvidia-smi -L | sed -n 's/^GPU 0: *//; s/ .UUID.*//p', \
  sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo) | head -n 1)
bench: $(B)/tests/bench/bench
	$< $(if $(on_gpu),-mat_type aijcusparse) $(BENCH_ARGS) -csv $(B)/bench.csv \
	  $(if $(on_gpu),,-over_time $(B)/over_time.csv) -device '$(DEVICE)' -commit $(COMMIT)
	@ls $(B)/bench.csv
ifeq ($(on_gpu),)
	@if ! python3 -c 'import matplotlib' 2>/dev/null; then echo 'no picture: python3 has no matplotlib'; \
	else python3 bench/plot.py $(B)/over_time.csv $(B)/over_time.png; fi
	@ls $(B)/over_time.*
endif

mpiexec = $(or $(call pc,--variable=mpiexec),mpiexec)

# How results vary from run to run: docs/notebook/nondeterminism.md
nondeterminism: $(B)/tests/bench/nondeterminism
	$< $(if $(on_gpu),-mat_type aijcusparse) -device '$(subst $(comma), ,$(DEVICE))' -csv $(B)/nondeterminism.csv $(ARGS)
	@ls $(B)/nondeterminism.csv

# KSPBAI with many levels beside CG with PCBAIMG, hypre, GAMG and Jacobi: docs/performance.md. With coefficients that
# jump by 10^6, rounding does not let b - A x become much smaller than 1e-6
MULTIGRID_HOST = -matrix laplace3d,fv3,laplace3d27,anisotropic -n 64,500,40,300
multigrid_3d   = laplace3d,laplace3d,laplace3d,laplace3d,laplace3d27
MULTIGRID_GPU  = -matrix jumps,jumps,elasticity,$(multigrid_3d),fv3,fv3,fv3,anisotropic,powerlaw,fv1,convection2d \
  -n 64,128,40,48,100,200,300,100,1000,2000,4000,500,1000000,0,500 -rtol 1e-6,1e-6,1e-8,1e-10
multigrid: $(B)/tests/bench/multigrid
	$< $(if $(on_gpu),-mat_type aijcusparse) $(or $(ARGS),$(if $(on_gpu),$(MULTIGRID_GPU),$(MULTIGRID_HOST))) \
	  -device '$(subst $(comma), ,$(DEVICE))' -commit $(COMMIT) -date $$(date +%F) -csv $(B)/multigrid.csv
	@ls $(B)/multigrid.csv

# Many right-hand sides at once, as ratios to one
columns: $(B)/tests/bench/columns
	$< $(if $(on_gpu),-mat_type aijcusparse) $(or $(ARGS),-matrix fv1,laplace3d,trefethen,trefethen \
	  -n 0,$(if $(on_gpu),48,24),2000,20000)

# Geometric multigrid with each solver of the coarse grid: docs/manual.md
coarse: $(B)/tests/bench/coarse
	$< $(if $(on_gpu),-dm_mat_type aijcusparse -dm_vec_type cuda) $(ARGS)

# 1, 2, 4, ... of N ranks, as ratios to one; on GPUs one each
N ?= 2
scaling: $(B)/tests/bench/ranks
	$(mpiexec) -n $(N) $< $(if $(on_gpu),-mat_type aijcusparse) -device '$(subst $(comma), ,$(DEVICE))' \
	  -commit $(COMMIT) -csv $(B)/ranks.csv $(ARGS)
	@ls $(B)/ranks.csv

# The experiments of the papers, or some of them: EXPERIMENT="faults theta"; docs/experiments.md
experiments_gpus := $(if $(cuda_petsc),$(or $(on_gpu),0),0)
experiment_programs := $(patsubst %.c,$(B)/tests/%,$(wildcard experiments/*.c) bench/bench.c bench/nondeterminism.c \
  tutorials/ex4.c)
experiments: $(experiment_programs)
	@$(if $(on_gpu),$(if $(cuda_petsc),:,echo 'this PETSc has no CUDA, so these are the experiments of the host'),:)
	python3 experiments/run.py --programs $(B)/tests --out $(B)/experiments --gpus $(experiments_gpus) \
	  --mpiexec $(mpiexec) --device '$(DEVICE)' --commit $(COMMIT) \
	  --petsc $(call pc,--modversion) $(ARGS) $(EXPERIMENT)
	@echo 'the page from it: make experiments-page CSV=$(B)/experiments'

# PETSc's test harness, from wherever this PETSc keeps it
TESTDIR := $(B)/tests
gentest := $(firstword $(wildcard $(PETSC_ROOT)/config/gmakegentest.py \
  $(PETSC_PREFIX)/share/petsc/examples/config/gmakegentest.py))
export BAI_LIB := $(CURDIR)/$(LIB)
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_hwloc_base_binding_policy = none
export OMPI_MCA_mpi_yield_when_idle = 1
# Where Open MPI 4 and 5 keep what processes of a run share: in /tmp other programs remove it
export OMPI_MCA_orte_tmpdir_base = $(CURDIR)/$(B)/mpi
export PRTE_MCA_prte_tmpdir_base = $(OMPI_MCA_orte_tmpdir_base)
ifneq ($(SANITIZE),)
  export ASAN_OPTIONS = detect_leaks=0:protect_shadow_gap=0
  export UBSAN_OPTIONS = print_stacktrace=1
endif

# "requires: baicuda" in a test: the library has the CUDA backend, and there is a GPU
$(B)/include/baiconf.h: FORCE
	@mkdir -p $(@D)
	@echo '$(if $(filter-out 0,$(GPU)),#define BAI_HAVE_BAICUDA 1)' | cmp -s - $@ || \
	  echo '$(if $(filter-out 0,$(GPU)),#define BAI_HAVE_BAICUDA 1)' > $@
$(TESTDIR)/testfiles: $(B)/include/baiconf.h $(wildcard tests/*.c tutorials/*.c tutorials/*.F90)
	@mkdir -p $(TESTDIR)
	@rm -f $(TESTDIR)/*/run*.sh
	@PYTHONDONTWRITEBYTECODE=1 python3 $(gentest) --petsc-dir=$(PETSC_ROOT) --petsc-arch=$(PETSC_ARCH) \
	  --testdir=$(TESTDIR) --srcdir=$(CURDIR) --pkg-name=bai --pkg-dir=$(CURDIR)/build --pkg-arch=$(ARCH) \
	  --pkg-pkgs=tests,tutorials
ifneq ($(filter run-tests,$(MAKECMDGOALS)),)
  include $(TESTDIR)/testfiles
endif
# T=PATTERN: only the tests whose names it matches, as the harness prints them; CASE=NAME: only this case of their
# programs
named = $(firstword $(subst +, ,$(patsubst diff-%,%,$(value T))))
$(TESTDIR)/counts/%.counts: ; @-$(if $(CASE),case='$(CASE)') $< $(if $(CASE),-e '-case $(CASE)')
harness_tests := $(test-tests.c) $(test-tutorials.c) $(test-tutorials.F90)
run-tests: $(LIB) $(patsubst %,$(TESTDIR)/counts/%.counts,$(if $(value T), \
  $(shell printf '%s\n' $(harness_tests) | grep -e '$(named)'),$(harness_tests)))

# Random systems, and histories of a solver, on 1 to 4 ranks for SECONDS in all, from seed FIRST on; the seed is a
# matter of the clock unless it is given
SECONDS ?= 60
FIRST   ?= $(shell expr $$(date +%s) % 1000000000)
FUZZ    ?=
fuzz: $(B)/tests/tests/differential $(B)/tests/tests/histories
	@failed=0; first=$(FIRST); each=$$(($(SECONDS) / 12)); \
	for ranks in 1 2 3 4; do for program in differential 'differential -levels' histories; do \
	  timeout $$((each + 120)) \
	    $(mpiexec) -n $$ranks $(<D)/$$program -first $$first -seconds $$each $(FUZZ) >$(B)/fuzz.log 2>&1 || \
	    { echo "$$program on $$ranks ranks from seed $$first: exit status $$?"; failed=1; }; \
	  cat $(B)/fuzz.log; ! grep -q '^Not so' $(B)/fuzz.log || failed=1; first=$$((first + 10000000)); \
	done; done; exit $$failed

# Very many solves by RANKS processes for SECONDS: on the host, and where there is a GPU on it, which nobody else may
# use meanwhile
RANKS ?= 2
soak: $(B)/tests/tests/soak
	@for how in '-backend host' \
	  $(if $(on_gpu),'-backend cuda -alone' $(if $(cuda_petsc),'-backend cuda -alone -mat_type aijcusparse')); do \
	  seconds=$$(($(SECONDS) / $(if $(on_gpu),$(if $(cuda_petsc),3,2),1))); \
	  $(mpiexec) -n $(RANKS) $< -seed $(FIRST) -seconds $$seconds $$how >$(B)/soak.log 2>&1; status=$$?; \
	  cat $(B)/soak.log; \
	  [ $$status = 0 ] && ! grep -q '^Not so' $(B)/soak.log || \
	    { echo "soak $$how: exit status $$status"; exit 1; }; \
	done

# Files for the reader of Matrix Market files, by libFuzzer, which begins with those of tutorials/data and keeps what it
# finds new. What MPI leaves at its end is not looked at
FUZZ_CC = OMPI_CC=clang MPICH_CC=clang $(CC) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
fuzz-mtx: tests/fuzz/matrixmarket.c tutorials/matrixmarket.c
	@command -v clang >/dev/null || config/packages.sh 'make fuzz-mtx needs clang' clang
	@mkdir -p $(B)/fuzz-mtx
	$(call quiet,CC,$<)$(FUZZ_CC) $(call pc,--cflags) -Itutorials $^ -o $(B)/fuzz-mtx/fuzz \
	  $(call pc,--libs) -Wl,-rpath,$(call pc,--variable=libdir)
	cd $(B)/fuzz-mtx && ASAN_OPTIONS=allocator_may_return_null=1:leak_check_at_exit=0 \
	  ./fuzz -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=2048 -max_len=2048 \
	  -print_final_stats=1 . $(CURDIR)/tutorials/data

# The commands of the manual, of the tutorial and of the page on multigrid, with PETSc's own tutorials that they name
petsc_src := $(patsubst %/config/,%/src,$(dir $(gentest)))
unchanged := $(patsubst %,$(TESTDIR)/petsc/%,ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex45 \
  ksp/ksp/tutorials/ex50 ksp/ksp/tutorials/ex56 snes/tutorials/ex5 snes/tutorials/ex19)
fortran   := $(if $(wildcard $(PETSC_PREFIX)/include/petscksp.mod),fortran)
example    = $(patsubst %,$(TESTDIR)/%,$(basename $(wildcard tutorials/ex*.c $(if $(fortran),tutorials/*.F90))))
have       = $(shell grep -qE 'USE_COMPLEX 1|USE_64BIT_INDICES 1|USE_REAL_SINGLE 1' $(PETSCCONF_H) || echo plain) \
  $(shell grep -q 'USE_REAL_DOUBLE 1' $(PETSCCONF_H) && echo double) \
  $(if $(OPENMP),threads) $(if $(filter-out 0,$(GPU)),baicuda $(shell grep -q HAVE_CUDA\ 1 $(PETSCCONF_H) && echo cuda))
$(TESTDIR)/petsc/%: $(petsc_src)/%.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(CFLAGS) -w $(call pc,--cflags) $(LDFLAGS) $< -o $@ $(PETSC_LIB)
commands   = PROGRAMS='$(abspath $(unchanged))' TUTORIALS='$(abspath $(example) $(wildcard tutorials/*.py))' \
  HAVE='mpicc $(fortran) $(have)' PETSC_PREFIX=$(PETSC_PREFIX) CC='$(CC) $(LDFLAGS)' MPIEXEC=$(mpiexec) \
  PYTHON='$(if $(SANITIZE),false,$(PYTHON))' PREFIX=$(abspath $(TESTDIR)/manual/prefix) \
  sh tests/manual.sh docs/$(1).md $(abspath $(TESTDIR)/$(1)) '$(named)'
run-manual: $(LIB) $(unchanged) $(example)
	@$(MAKE) -s install DESTDIR= PREFIX=$(abspath $(TESTDIR)/manual/prefix)
	@$(call commands,manual)
run-tutorial: $(LIB) $(unchanged) $(example)
	@$(call commands,tutorial)
run-multigrid: $(LIB) $(unchanged) $(example)
	@$(call commands,multigrid)

# What Open MPI tells processes of its folder
run-session:
	@mkdir -p $(TESTDIR)/session
	@case $$($(mpiexec) -n 1 printenv PMIX_SERVER_TMPDIR) in \
	  '$(CURDIR)/$(B)/mpi'/*) echo 'ok session';; '') echo 'ok session # SKIP Open MPI required';; \
	  *) echo 'not ok session # not in $(B)/mpi';; esac | tee $(TESTDIR)/session/tap

# What the library needs, and libraries built for other PETSc
run-variants: $(LIB) $(unchanged)
	@HAVE='$(have)' PETSC_PREFIX=$(PETSC_PREFIX) sh tests/variants.sh \
	  $(abspath $(TESTDIR)/variants) $(BAI_LIB) $(abspath $(firstword $(unchanged))) \
	  $(CC) -shared -fPIC $(CPPFLAGS)

# The Python package
run-pip: $(LIB) $(unchanged)
	@HAVE='$(have)' PETSC_PREFIX=$(PETSC_PREFIX) MPIEXEC=$(mpiexec) PYTHON='$(if $(SANITIZE),false,$(PYTHON))' \
	  LIBS='$(PETSC_LIB)' sh tests/pip.sh $(abspath $(TESTDIR)/pip) $(BAI_LIB) $(abspath $(firstword $(unchanged))) \
	  $(CC) -shared -fPIC $(CPPFLAGS)

# What is made of src/petsc/options.def is up to date
run-options:
	@mkdir -p $(TESTDIR)/options
	@python3 config/options.py --check >$(TESTDIR)/options/tap || grep '^not ok' $(TESTDIR)/options/tap

# The experiments run, and a page comes of them
run-experiments-test: $(experiment_programs)
	@mkdir -p $(TESTDIR)/experiments-test
	@HAVE='$(have)' PYTHONDONTWRITEBYTECODE=1 python3 tests/experiments.py $(B)/tests $(TESTDIR)/experiments-test \
	  $(mpiexec) >$(TESTDIR)/experiments-test/tap || grep '^not ok' $(TESTDIR)/experiments-test/tap

# Demonstrations of other packages, with their own solver and with ours; CLIENTS= takes some
client = HAVE='$(have)' PETSC_PREFIX=$(PETSC_PREFIX) PETSC_PC=$(petsc.pc) PETSC_CC='$(CC)' PYTHONDONTWRITEBYTECODE=1 \
  python3 tutorials/clients/clients.py
clients: $(LIB)
	@$(client) $(CLIENTS)
run-clients: $(LIB)
	@mkdir -p $(TESTDIR)/clients
	@$(if $(SANITIZE),true,$(client) --tests) >$(TESTDIR)/clients/log 2>&1; \
	  grep -E '^(not )?ok ' $(TESTDIR)/clients/log | tee $(TESTDIR)/clients/tap

# Kernels within the limits of tests/kernels.txt
run-kernels: $(LIB)
	@mkdir -p $(TESTDIR)/kernels
	@NVCC='$(NVCC)' HAVE='$(have)' sh tests/kernels.sh check tests/kernels.txt \
	  $(if $(NVCC),$(patsubst %.o,%.log,$(call obj,$(units)))) >$(TESTDIR)/kernels/tap; \
	  grep '^not ok' $(TESTDIR)/kernels/tap || true

# Sizes of what is in src, and no circles of files by calls
run-house: $(LIB)
	@mkdir -p $(TESTDIR)/house
	@python3 tests/house.py $(call obj,$(engine) $(faces)) >$(TESTDIR)/house/tap; \
	  grep '^not ok' $(TESTDIR)/house/tap || true

# As many at a time as there are cores, unless -j says otherwise. What is not of the harness has a target run-NAME that
# writes NAME/tap; with T only if T is NAME or NAME-...
extra  = manual tutorial multigrid session variants pip options kernels house experiments-test clients
jobs   = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
wanted = $(foreach e,$(extra),$(if $(value T),$(if $(filter $(e) $(e)-%,$(value T)),$(e)),$(e)))
goals  = $(wanted:%=run-%) $(if $(filter $(extra) $(extra:%=%-%),$(value T)),,run-tests)
test: $(TESTDIR)/testfiles
	@rm -rf $(TESTDIR)/counts $(TESTDIR)/test_*.log $(extra:%=$(TESTDIR)/%/tap)
	@mkdir -p $(TESTDIR)/counts
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive} \
	  $(MAKE) --no-print-directory $(jobs) $(goals)
	@log=$$(ls $(TESTDIR)/test_*_tap.log 2>/dev/null); \
	  cat /dev/null $(wanted:%=$(TESTDIR)/%/tap) >>$${log:-$(TESTDIR)/test__tap.log}
	@sh tests/summary.sh $(TESTDIR) $(CURDIR) '$(named)'

# All tests in one file that runs on a machine with a GPU and without PETSc: see tests/carry.sh
programs := $(patsubst %.c,$(TESTDIR)/%,$(wildcard tests/*.c tutorials/ex*.c bench/*.c experiments/*.c))
bundle: ; @$(MAKE) --no-print-directory GPU=1 carry
carry: $(programs) $(unchanged) $(TESTDIR)/testfiles
	@HAVE='$(have)' BENCH='$(BENCH_GPU)' sh tests/carry.sh $(B) $(PETSC_PREFIX) $(B)/carried.tar.gz

# The whole of the tests, harness included if it is not there yet
check:
ifeq ($(gentest),)
ifneq ($(PETSC_DIR),)
	$(error PETSC_DIR=$(PETSC_DIR) has no test harness: \
	  there is no config/gmakegentest.py in $(PETSC_ROOT), and none in share/petsc/examples)
endif
	@config/petsc.sh debian 'the tests need the test harness of the PETSc in $(PETSC_PREFIX)' >/dev/null
endif
	@$(MAKE) --no-print-directory test

# PREFIX may be relative, and either may have spaces in it
PREFIX   ?= /usr/local
export PREFIX DESTDIR
series   := $(shell echo $(call pc,--modversion) | awk -F. '{print $$1"."$$2" "$$1"."$$2 + 1}')
pc_name    = $(notdir $(basename $(petsc.pc)))
requires   = $(pc_name) >= $(word 1,$(series)), $(pc_name) < $(word 2,$(series))
install: $(LIB)
	@config/install.sh $(LIB) '$(VERSION)' '$(requires)'

# What clang-tidy finds in the sources for the host, with the checks of .clang-tidy
tidy_flags = $(filter -I% -D% -isystem%,$(shell $(CC) -show 2>/dev/null) $(CPPFLAGS)) \
  -Isrc/common/serial -Itutorials -Isrc/petsc -Wno-unknown-pragmas
tidy:
	@command -v clang-tidy-14 >/dev/null || config/packages.sh 'make tidy needs clang-tidy 14' clang-tidy-14
	@mkdir -p $(B)
	@printf '%s\n' $(filter %.c,$(engine) $(faces) $(gallery)) \
	  $(wildcard tests/*.c tests/fuzz/*.c tutorials/ex*.c bench/*.c experiments/*.c) | \
	  xargs -P $$(nproc) -I{} clang-tidy-14 --quiet {} -- -std=gnu11 $(tidy_flags) 2>&1 | \
	  grep -v 'warnings\? generated\|^Suppressed\|^Use -header-filter' | tee $(B)/tidy.log; \
	  ! grep -q 'warning:\|error:' $(B)/tidy.log

# What cppcheck finds there; it looks into no header of PETSc, which would take hours
cppcheck:
	@command -v cppcheck >/dev/null || config/packages.sh 'make cppcheck needs cppcheck' cppcheck
	cppcheck --quiet --error-exitcode=1 --std=c11 --language=c --enable=warning,performance,portability \
	  --max-configs=1 --suppress=toomanyconfigs -Iinclude -Isrc/common/serial -Itutorials -Isrc/petsc \
	  $(filter %.c,$(engine) $(faces)) $(wildcard tests/*.c tests/fuzz/*.c tests/parts/*.c tutorials/*.c) \
	  $(wildcard bench/*.c bench/parts/*.c experiments/*.c)

# Lines of src/ that the tests reach on the host; T= takes some tests
coverage:
	@command -v gcovr >/dev/null || config/packages.sh 'make coverage needs gcovr' gcovr
	@find build -path 'build/*-coverage/*' -name '*.gcda' -delete
	@$(MAKE) --no-print-directory NVCC= COVERAGE=1 coverage-test
coverage-test:
	@$(MAKE) --no-print-directory test; status=$$?; \
	mkdir -p $(B)/coverage; \
	gcovr --root . --filter src/ --html-details $(B)/coverage/index.html --txt - --fail-under-line $(COVERED) \
	  $(B)/obj || status=1; \
	echo 'line by line: $(B)/coverage/index.html'; exit $$status
COVERED ?= 90

-include $(patsubst %.o,%.d,$(call obj,$(engine) $(faces) $(gallery)))

.PHONY: all demo clients bench multigrid columns coarse nondeterminism scaling experiments \
  check fuzz fuzz-mtx soak test run-tests run-manual run-tutorial run-multigrid run-session run-variants \
  run-pip run-options run-experiments-test run-clients run-kernels run-house kernels bundle carry install tidy \
  cppcheck coverage coverage-test

endif

endif

# Setters, getters, their pages and the tables of options, all from src/petsc/options.def
options: ; @python3 config/options.py

# PETSc's style, by the clang-format of Debian 12, and Python by its black, as others differ; sizes of what is in src;
# and no line of files with these names is longer than 120 columns
# (clang-format 14 mangles tables whose rows name different fields: those stand between "clang-format off" and "on")
folders = include src/* src/*/* tests tests/fuzz tests/parts tutorials bench bench/* experiments
sources = $(wildcard $(foreach d,$(folders),$(d)/*.c $(d)/*.h $(d)/*.cu))
narrow  = \.(c|h|def|cu|F90|py|sh)$$|^(makefile|config/.*|\.ci/run|debian/rules|debian/tests/.*)$$
files   = git -c safe.directory='*' ls-files 2>/dev/null || find . -path ./build -prune -o -type f -printf '%P\n'
format: formatters
	@clang-format-14 -i $(sources)
	@black -q .
checkformat: formatters
	@for f in $(sources); do \
	  if ! clang-format-14 $$f >build/formatted 2>/dev/null; then \
	    echo "$$f: clang-format 14 fails, see above the target in the makefile"; \
	  elif ! cmp -s build/formatted $$f; then \
	    lines=$$(diff $$f build/formatted | grep -c '^<'); \
	    echo "$$f: $$lines lines not as .clang-format has it, make format mends them"; \
	  fi; \
	done >build/checkformat
	@black --check . 2>build/formatted || cat build/formatted >>build/checkformat
	@python3 tests/house.py >>build/checkformat || true
	@{ $(files); } | grep -E '$(narrow)' | LC_ALL=C.UTF-8 xargs -d '\n' grep -nHE '.{121}' | \
	  sed 's/^\([^:]*:[0-9]*\):.*/\1: more than 120 columns/' >>build/checkformat
	@cat build/checkformat; [ ! -s build/checkformat ]
formatters:
	@mkdir -p build
	@command -v clang-format-14 >/dev/null && command -v black >/dev/null || \
	  config/packages.sh 'make format and make checkformat need clang-format 14 and black' clang-format-14 black

# The spelling of everything
spell:
	@command -v codespell >/dev/null || config/packages.sh 'make spell needs codespell' codespell
	@codespell && echo 'no misspelt words'

# Host tests with other PETSc, compilers and checks; MATRIX= takes some of them, T= some tests
MATRIX ?= real complex int64 complex-int64 sanitize clang noopenmp
export MATRIX T
matrix: ; @config/matrix.sh

help:
	@echo 'all      the library'
	@echo 'demo     BAI next to PETSc'"'"'s solvers and smoothers, first getting PETSc if there is none;' \
	  'ARGS="-matrix trefethen" passes options'
	@echo 'clients  demonstrations of packages that use PETSc, with their own solver and with ours:' \
	  'CLIENTS="slepc dolfinx" takes some'
	@echo 'check    all tests; gets PETSc first if there is none'
	@echo 'test     all tests; T=PATTERN: those whose names it matches, CASE=NAME: one case of them'
	@echo 'fuzz     random systems, options and histories for SECONDS, from seed FIRST on;' \
	  'fuzz-mtx: files for the reader of Matrix Market files'
	@echo 'soak     very many solves for SECONDS by RANKS processes: memory must not grow'
	@echo 'bundle   all tests in one file, for a machine with a GPU and without PETSc'
	@echo 'bench    timings next to PETSc'"'"'s solvers; GPU=1: on the GPU'
	@echo 'nondeterminism  how results vary from run to run, as CSV; GPU=1: on the GPU'
	@echo 'multigrid  KSPBAI with many levels beside CG with PCGAMG and others; GPU=1: on the GPU;' \
	  'HYPRE_DIR=$$(config/hypre.sh SOURCES): and hypre'
	@echo 'columns    times of many right-hand sides at once, by KSPMatSolve(); GPU=1: on the GPU'
	@echo 'coarse   geometric multigrid with each solver of the coarse grid; GPU=1: on the GPU'
	@echo 'scaling  times on 1, 2, 4, ... of N=2 ranks, as CSV; GPU=1: on as many GPUs'
	@echo 'experiments  those of the papers; GPU=1: on the GPU; EXPERIMENT="faults theta": some of them'
	@echo 'experiments-page  docs/experiments.md and its pictures from the tables in CSV=DIR'
	@echo 'performance  the tables of docs/notebook/relaxation.md from CSV=bench.csv,' \
	  'and those of several GPUs in docs/performance.md from RANKS=ranks.csv'
	@echo 'checkdocs    links between documents, and their tables and figures against the data'
	@echo 'docs     the documents as pages, build/pages/index.html'
	@echo 'kernels  the CUDA kernels of each unit: registers and spills'
	@echo 'install  into PREFIX (/usr/local), below DESTDIR'
	@echo 'wheel    the Python package as a file, build/petscbai-*.whl'
	@echo 'options  writes what follows from src/petsc/options.def'
	@echo 'matrix   host tests with real, complex and 64-bit PETSc, sanitizers, clang, without OpenMP:' \
	  'MATRIX="complex clang" takes some,'
	@echo '         MATRIX="single release 3.22.5 cuda-complex cuda-int64" builds other PETSc first'
	@echo 'format   puts the sources into their style; checkformat only says which are not, and where lines are too long'
	@echo 'tidy     what clang-tidy finds; cppcheck: what cppcheck finds'
	@echo 'coverage lines of src/ that the tests reach on the host'
	@echo 'spell    what codespell finds'
	@echo 'clean    removes build/'
clean: ; rm -rf build

# The tables of docs/performance.md and docs/notebook/relaxation.md, from what CSV= names (a bench.csv) and RANKS= (a
# ranks.csv), or from the files of the last time
performance:
	python3 bench/tables.py docs/notebook/relaxation.md docs/data/bench.csv $(CSV)
	python3 bench/tables.py docs/performance.md docs/data/ranks.csv $(RANKS)
	python3 bench/tables.py docs/performance.md docs/data/host.csv

# The page of the experiments and its pictures, from the folders that CSV= names (what make experiments wrote) or from
# those of the last time
experiments-page: ; PYTHONDONTWRITEBYTECODE=1 python3 experiments/page.py $(if $(CSV),--csv $(CSV))

# The Python package as a file, for the PETSc that pip install . would take
wheel:
	@python3 -m pip wheel --quiet --no-deps --wheel-dir build . && ls build/petscbai-*.whl

# Links between documents, whether what is made is up to date, and the version
checkdocs:
	python3 tests/checkdocs.py README.md CHANGELOG.md CONTRIBUTING.md docs packaging
	python3 tests/figures.py
	python3 bench/tables.py --check docs/notebook/relaxation.md docs/data/bench.csv
	python3 bench/tables.py --check docs/performance.md docs/data/ranks.csv
	python3 bench/tables.py --check docs/performance.md docs/data/host.csv
	PYTHONDONTWRITEBYTECODE=1 python3 experiments/page.py --check
	python3 docs/figures/blocks.py | cmp - docs/figures/blocks.svg
	python3 docs/figures/cycle.py | cmp - docs/figures/cycle.svg
	python3 docs/figures/which.py | cmp - docs/figures/which.svg
	python3 docs/figures/solves.py | cmp - docs/figures/solves.svg
	python3 docs/figures/billion_rows.py --check docs/notebook/billion_rows.md
	sh tests/version.sh
	config/addresses.sh

# As pages, by Sphinx
docs: ; @config/docs.sh

FORCE:
.PHONY: help wheel options format checkformat formatters spell matrix clean performance experiments-page checkdocs \
  docs FORCE
