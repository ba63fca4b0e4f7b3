# petsc-bai: make demo, make check; make help lists the rest
#
# PETSC_DIR [PETSC_ARCH] choose a PETSc, else pkg-config does. NVCC= builds without CUDA, SANITIZE=1 with gcc's sanitizers
# PYTHON is one that has this PETSc's petsc4py, for the tests

ifneq ($(PETSC_DIR),)
  petsc.pc := $(firstword $(wildcard $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig/petsc.pc $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig/PETSc.pc))
  ifeq ($(petsc.pc),)
    $(error no petsc.pc or PETSc.pc in $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig: PETSC_DIR and PETSC_ARCH must name a built PETSc)
  endif
else
  petsc.pc := $(firstword $(foreach p,petsc PETSc,$(shell pkg-config --exists $(p) 2>/dev/null && echo $(p))))
endif

ifeq ($(petsc.pc),)

# No PETSc yet: get Debian's, then do what was asked for
.DEFAULT_GOAL := all
all demo check test install: ; config/petsc.sh debian >/dev/null && $(MAKE) $@
.PHONY: all demo check test install

else

pc           = $(shell pkg-config $(1) $(petsc.pc))
PETSC_PREFIX := $(call pc,--variable=prefix)
PETSCCONF_H  := $(PETSC_PREFIX)/include/petscconf.h
PETSC_ROOT   := $(shell awk -F'"' '/define PETSC_DIR /{print $$2}' $(PETSCCONF_H))
VERSION      := $(shell awk '/define PETSCBAI_VERSION_/{v = v s $$3; s = "."} END{print v}' include/petscbai.h)

CC         := $(call pc,--variable=ccompiler)
FC         := $(call pc,--variable=fcompiler)
CFLAGS     ?= $(call pc,--variable=cflags_extra) -O3 -Wall -Wextra
OPENMP     ?= -fopenmp
CPPFLAGS   := -Iinclude $(call pc,--cflags) $(call pc,--variable=cudainclude)
PETSC_LIB  := $(call pc,--libs) -Wl,-rpath,$(call pc,--variable=libdir) -lm

# nvcc: PETSc's, else the one in PATH, else the usual place
NVCC       ?= $(firstword $(call pc,--variable=cudacompiler) $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_HOME  ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
CUDA_ARCH  ?= 80 90
NVCCFLAGS  ?= $(or $(call pc,--variable=cudaflags_extra),-O3 $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=[compute_$(a),sm_$(a)]))
ifneq ($(NVCC),)
  CUDA_LIB := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart -lstdc++
endif
GPU        ?= $(if $(NVCC),$(shell nvidia-smi -L 2>/dev/null | grep -c ^GPU))

ARCH := $(notdir $(patsubst %/,%,$(dir $(PETSC_PREFIX))))-$(notdir $(PETSC_PREFIX))$(if $(NVCC),,-nocuda)$(if $(SANITIZE),-sanitize)
ifneq ($(SANITIZE),)
  CFLAGS  += -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
  LDFLAGS += -fsanitize=address,undefined
else
  LDFLAGS += -Wl,--no-undefined
endif
B    := build/$(ARCH)
LIB  := $(B)/lib/libpetscbai.so
SYM  := PetscDLLibraryRegister_petscbai

# The engine's backends: the one place that knows whether there is CUDA
engine  := $(wildcard src/engine/*.c src/engine/host/*.c) $(if $(NVCC),$(wildcard src/engine/cuda/*.cu),src/engine/cuda/cuda_none.c)
faces   := $(wildcard src/bai/*.c src/ksp/bai/*.c src/pc/baismooth/*.c)
gallery := tutorials/gallery.c tutorials/now.c tutorials/matrixmarket.c tutorials/smoothers.c $(wildcard bench/parts/*.c)
obj      = $(patsubst %,$(B)/obj/%.o,$(1))

all: $(LIB)
	@echo 'petsc-bai $(VERSION) for PETSc $(call pc,--modversion) in $(PETSC_PREFIX), $(if $(NVCC),CUDA by $(NVCC),no nvcc so without CUDA): $(LIB)'
	@echo 'use it in any PETSc program: -dll_append $(abspath $(LIB)) -ksp_type bai'

$(B)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) -c -fPIC -fvisibility=hidden -MMD -MP $(CFLAGS) $(OPENMP) $(CPPFLAGS) $< -o $@
$(B)/obj/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) -c -Xcompiler -fPIC,-fvisibility=hidden -MMD -MP $(NVCCFLAGS) -Iinclude $(call pc,--cflags-only-I) $< -o $@

# nodelete: OpenMP's threads may outlive a dlclose()
$(LIB): $(call obj,$(engine) $(faces))
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete $(LDFLAGS) $(OPENMP) $^ -o $@ $(PETSC_LIB) $(CUDA_LIB)
	@nm -D --defined-only $@ | grep -q ' T $(SYM)$$' || { echo "$@ does not export $(SYM)"; rm -f $@; exit 1; }

$(call obj,$(wildcard bench/parts/*.c)): CPPFLAGS += -Itutorials

$(B)/libengine.a: $(call obj,$(engine)) ; $(AR) rcs $@ $^
$(B)/libgallery.a: $(call obj,$(gallery)) ; $(AR) rcs $@ $^

# Programs: each tests/*.c and tutorials/*.c with a main, linked with the library, the gallery, and for the tests the engine itself
LINK = -L$(abspath $(B)/lib) -Wl,-rpath,$(abspath $(B)/lib) -lpetscbai
$(B)/tests/%: %.c $(LIB) $(B)/libgallery.a $(B)/libengine.a $(wildcard tests/*.h tutorials/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(OPENMP) $(CPPFLAGS) -Itutorials -Isrc/bai $(LDFLAGS) $< -o $@ $(B)/libgallery.a $(LINK) $(B)/libengine.a $(PETSC_LIB) $(CUDA_LIB)

# Those in Fortran load the library by -dll_append
$(B)/tests/%: %.F90 $(LIB)
	@mkdir -p $(@D)
	$(FC) $(call pc,--variable=fflags_extra) $(call pc,--cflags) $(LDFLAGS) $< -o $@ $(PETSC_LIB)

# The main job: BAI next to PETSc's Jacobi-Richardson and CG
demo: $(B)/tests/tutorials/ex1 ; $< -matrix fv1 -compare $(ARGS)

# Times next to PETSc's solvers, and a picture of them if there is matplotlib; GPU=1 on the GPU; ARGS= passes options
on_gpu := $(filter-out 0,$(GPU))
BENCH   = -matrix fv1,fv3,trefethen,trefethen,laplace3d,laplace3d27,chem97ztz-like,powerlaw -n 0,0,2000,20000,$(if $(on_gpu),200,32),$(if $(on_gpu),100,24) -seconds $(if $(on_gpu),5,0.5)
bench: $(B)/tests/bench/bench
	$< $(if $(on_gpu),-mat_type aijcusparse) $(or $(ARGS),$(BENCH)) -csv $(B)/bench.csv -over_time $(B)/over_time.csv
	@if python3 -c 'import matplotlib' 2>/dev/null; then python3 bench/plot.py $(B)/over_time.csv $(B)/over_time.png; else echo 'no picture: python3 has no matplotlib'; fi
	@ls $(B)/bench.csv $(B)/over_time.*

# PETSc's test harness, from wherever this PETSc keeps it
TESTDIR := $(B)/tests
gentest := $(firstword $(wildcard $(PETSC_ROOT)/config/gmakegentest.py $(PETSC_PREFIX)/share/petsc/examples/config/gmakegentest.py))
export BAI_LIB := $(abspath $(LIB))
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_hwloc_base_binding_policy = none
export OMPI_MCA_mpi_yield_when_idle = 1
ifneq ($(SANITIZE),)
  export ASAN_OPTIONS = detect_leaks=0:protect_shadow_gap=0
  export UBSAN_OPTIONS = print_stacktrace=1
endif

# "requires: baicuda" in a test: the library has the CUDA backend, and there is a GPU
$(B)/include/baiconf.h: FORCE
	@mkdir -p $(@D)
	@echo '$(if $(filter-out 0,$(GPU)),#define BAI_HAVE_BAICUDA 1)' | cmp -s - $@ || echo '$(if $(filter-out 0,$(GPU)),#define BAI_HAVE_BAICUDA 1)' > $@
$(TESTDIR)/testfiles: $(B)/include/baiconf.h $(wildcard tests/*.c tutorials/*.c tutorials/*.F90)
	@mkdir -p $(TESTDIR)
	@rm -f $(TESTDIR)/*/run*.sh
	@PYTHONDONTWRITEBYTECODE=1 python3 $(gentest) --petsc-dir=$(PETSC_ROOT) --petsc-arch=$(PETSC_ARCH) --testdir=$(TESTDIR) --srcdir=$(CURDIR) --pkg-name=bai --pkg-dir=$(CURDIR)/build --pkg-arch=$(ARCH) --pkg-pkgs=tests,tutorials
ifneq ($(filter run-tests,$(MAKECMDGOALS)),)
  include $(TESTDIR)/testfiles
endif
# T=PATTERN: only the tests whose names it matches, as the harness prints them; CASE=NAME: only this case of their programs
named = $(firstword $(subst +, ,$(patsubst diff-%,%,$(value T))))
$(TESTDIR)/counts/%.counts: ; @-$(if $(CASE),case='$(CASE)') $< $(if $(CASE),-e '-case $(CASE)')
harness_tests := $(test-tests.c) $(test-tutorials.c) $(test-tutorials.F90)
run-tests: $(LIB) $(patsubst %,$(TESTDIR)/counts/%.counts,$(if $(value T),$(shell printf '%s\n' $(harness_tests) | grep -e '$(named)'),$(harness_tests)))

# The commands of the manual, with PETSc's own tutorials that it names
petsc_src := $(patsubst %/config/,%/src,$(dir $(gentest)))
unchanged := $(patsubst %,$(TESTDIR)/petsc/%,ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex45 ksp/ksp/tutorials/ex50 snes/tutorials/ex5 snes/tutorials/ex19)
fortran   := $(if $(wildcard $(PETSC_PREFIX)/include/petscksp.mod),fortran)
example    = $(patsubst %,$(TESTDIR)/%,$(basename $(wildcard tutorials/ex*.c $(if $(fortran),tutorials/*.F90))))
have       = $(shell grep -qE 'USE_COMPLEX 1|USE_64BIT_INDICES 1|USE_REAL_SINGLE 1' $(PETSCCONF_H) || echo plain) $(if $(filter-out 0,$(GPU)),baicuda $(shell grep -q HAVE_CUDA\ 1 $(PETSCCONF_H) && echo cuda))
$(TESTDIR)/petsc/%: $(petsc_src)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -w $(call pc,--cflags) $(LDFLAGS) $< -o $@ $(PETSC_LIB)
run-manual: $(LIB) $(unchanged) $(example)
	@$(MAKE) -s install DESTDIR= PREFIX=$(abspath $(TESTDIR)/manual/prefix)
	@PROGRAMS='$(abspath $(unchanged))' TUTORIALS='$(abspath $(example) $(wildcard tutorials/*.py))' HAVE='mpicc $(fortran) $(have)' \
	  PETSC_PREFIX=$(PETSC_PREFIX) CC='$(CC) $(LDFLAGS)' MPIEXEC=$(or $(call pc,--variable=mpiexec),mpiexec) PYTHON='$(if $(SANITIZE),false,$(PYTHON))' PREFIX=$(abspath $(TESTDIR)/manual/prefix) \
	  sh tests/manual.sh docs/manual.md $(abspath $(TESTDIR)/manual) '$(named)'

# As many at a time as there are cores, unless -j says otherwise; the manual's commands too, with T only if it begins so
jobs  = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
goals = $(if $(filter-out manual%,$(value T)),,run-manual) $(if $(filter manual%,$(value T)),,run-tests)
test: $(TESTDIR)/testfiles
	@rm -rf $(TESTDIR)/counts $(TESTDIR)/test_*.log $(TESTDIR)/manual/tap
	@mkdir -p $(TESTDIR)/counts
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive} $(MAKE) --no-print-directory $(jobs) $(goals)
	@$(if $(filter-out manual%,$(value T)),true,log=$$(ls $(TESTDIR)/test_*_tap.log 2>/dev/null); cat $(TESTDIR)/manual/tap >>$${log:-$(TESTDIR)/test__tap.log})
	@sh tests/summary.sh $(TESTDIR) $(CURDIR) '$(named)'

# All tests in one file that runs on a machine with a GPU and without PETSc: see tests/carry.sh
programs := $(patsubst %.c,$(TESTDIR)/%,$(wildcard tests/*.c tutorials/ex*.c bench/*.c))
bundle: ; @$(MAKE) --no-print-directory GPU=1 carry
carry: $(programs) $(unchanged) $(TESTDIR)/testfiles
	@HAVE='$(have)' sh tests/carry.sh $(B) $(PETSC_PREFIX) $(B)/carried.tar.gz

# The whole of the tests, harness included if it is not there yet
check:
ifeq ($(gentest),)
	config/petsc.sh debian >/dev/null
endif
	@$(MAKE) --no-print-directory test

PREFIX   ?= /usr/local
series   := $(shell echo $(call pc,--modversion) | awk -F. '{print $$1"."$$2" "$$1"."$$2 + 1}')
requires  = $(notdir $(basename $(petsc.pc))) >= $(word 1,$(series)), $(notdir $(basename $(petsc.pc))) < $(word 2,$(series))
install: $(LIB)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(LIB) $(DESTDIR)$(PREFIX)/lib
	install -m 644 include/petscbai.h include/petscbaitypes.h $(DESTDIR)$(PREFIX)/include
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|' -e 's|@requires@|$(requires)|' config/petscbai.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/petscbai.pc

-include $(patsubst %.o,%.d,$(call obj,$(engine) $(faces) $(gallery)))

.PHONY: all demo bench check test run-tests run-manual bundle carry install

endif

help:
	@echo 'all      the library'
	@echo 'demo     BAI next to PETSc'"'"'s Jacobi-Richardson and CG; ARGS= passes options, as ARGS="-matrix trefethen"'
	@echo 'check    all tests; gets PETSc first if there is none'
	@echo 'test     all tests; T=PATTERN: those whose names it matches, CASE=NAME: one case of them'
	@echo 'bundle   all tests in one file, for a machine with a GPU and without PETSc'
	@echo 'bench    timings next to PETSc'"'"'s solvers; GPU=1: on the GPU'
	@echo 'install  into PREFIX (/usr/local), below DESTDIR'
	@echo 'clean    removes build/'
clean: ; rm -rf build
FORCE:
.PHONY: help clean FORCE
