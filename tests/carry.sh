#!/bin/sh
# Packs the built tests so that they run where there is no PETSc: tests/carry.sh BUILD_DIR PETSC_PREFIX OUT.tar.gz
# There: tar -xzf OUT.tar.gz && bash carried/run.sh [memcheck] [name pattern], and bash carried/run.sh manual
# Environment: HAVE: what there is of what the manual's blocks require
set -eu
build=$(realpath "$1") prefix=$(realpath "$2") out=$3 src=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
to=$dir/carried
mkdir -p "$to/lib" "$to/petsc/lib/petsc" "$to/petsc/share/petsc/examples/config" "$to/src"
cp "$build/lib/libpetscbai.so" "$to/lib"
for l in $(ldd "$build/lib/libpetscbai.so" | awk '/libpetsc/ && /=>/{print $3}'); do cp -L "$l" "$to/lib"; done
strip --strip-unneeded "$to"/lib/libpetsc.so* 2>/dev/null || true
harness=$(sed -n "s/^config_dir='\(.*\)'/\1/p" "$(find "$build/tests" -name 'run*.sh' | head -n 1)")
petsc_bin=$(sed -n "s/^petsc_bindir='\(.*\)'/\1/p" "$(find "$build/tests" -name 'run*.sh' | head -n 1)")
cp "$harness/petsc_harness.sh" "$to/petsc/share/petsc/examples/config"
mkdir -p "$to/petsc/lib/petsc/bin"
cp "$petsc_bin/petscdiff" "$to/petsc/lib/petsc/bin"
for d in tests tutorials; do
  mkdir -p "$to/src/$d" "$to/tests/$d"
  cp -r "$src/$d/output" "$src/$d"/*.c "$to/src/$d"
  cp "$build/tests/$d"/run*.sh "$to/tests/$d"
  rm -f "$to/tests/$d"/runex[0-9]f_*.sh "$to/tests/$d"/runex[0-9][0-9]f_*.sh # Fortran's library is not carried
  find "$build/tests/$d" -maxdepth 1 -type f -perm -u+x ! -name '*.sh' -exec cp {} "$to/tests/$d" \;
  [ ! -d "$src/$d/data" ] || { cp -r "$src/$d/data" "$to/src/$d"; cp -r "$src/$d/data" "$to/tests/$d"; }
done
cp "$src"/tutorials/*.py "$to/tests/tutorials"
cp "$build/tests/bench/bench" "$to"
cp "$src/tests/summary.sh" "$src/tests/memcheck.sh" "$src/tests/manual.sh" "$src/docs/manual.md" "$to"
find "$build/tests/petsc" -type f -exec cp {} "$to/petsc" \;
echo "$HAVE" >"$to/have"
printf '%s\n' "$build/tests" "$harness" "$petsc_bin" "$src" >"$to/paths"
cat >"$to/run.sh" <<'RUN'
#!/bin/bash
# Runs the tests packed here: run.sh [memcheck] [name pattern]; memcheck runs them below compute-sanitizer. run.sh manual: the manual's commands
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-} BAI_LIB=$here/lib/libpetscbai.so
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
export PETSC_OPTIONS="${PETSC_OPTIONS:-} -use_gpu_aware_mpi 0"
if [ -f "$here/paths" ]; then
  { read -r tests; read -r harness; read -r bin; read -r src; } <"$here/paths"
  sed -i -e "s|$tests|@here@/tests|g" -e "s|$harness|@here@/petsc/share/petsc/examples/config|g" -e "s|$bin|@here@/petsc/lib/petsc/bin|g" -e "s|$src|@here@/src|g" -e "s|@here@|$here|g" -e 's|/usr/bin/mpiexec|mpiexec|' "$here"/tests/*/run*.sh
  mv "$here/paths" "$here/paths.old"
fi
if [ "${1:-}" = manual ]; then
  export PROGRAMS=$(echo "$here"/petsc/ex*) TUTORIALS=$(echo "$here"/tests/tutorials/{ex?,*.py}) HAVE=$(cat "$here/have")
  export PETSC_PREFIX=$here CC=false MPIEXEC=mpiexec PYTHON=${PYTHON:-false} PREFIX=$here
  sh "$here/manual.sh" "$here/manual.md" "$here/manual"
  ! grep -q '^not ok' "$here/manual/tap"
  exit
fi
if [ "${1:-}" = memcheck ]; then
  shift
  export PETSCMPIEXEC="sh $here/memcheck.sh" MEMCHECK_LOGS=$here/memcheck
  rm -rf "$MEMCHECK_LOGS"
  mkdir -p "$MEMCHECK_LOGS"
fi
rm -rf "$here"/tests/counts "$here"/tests/test_*.log
ls "$here"/tests/*/run*.sh | grep -e "${1:-.}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash {} ${MEMCHECK_LOGS:+-t 600} >"$here/log" 2>&1
sh "$here/summary.sh" "$here/tests" "$here/src" | grep -v '^skipped' ; status=${PIPESTATUS[0]}
if [ -n "${MEMCHECK_LOGS:-}" ]; then
  echo "compute-sanitizer memcheck: $(cat "$MEMCHECK_LOGS"/* | grep -c 'ERROR SUMMARY: 0 errors') clean runs, $(cat "$MEMCHECK_LOGS"/* | grep 'ERROR SUMMARY' | grep -vc ': 0 errors') with errors"
  cat "$MEMCHECK_LOGS"/* | grep 'ERROR SUMMARY' | grep -q -v ': 0 errors' && status=1
fi
exit $status
RUN
mkdir -p "$(dirname "$out")"
tar -czf "$out" -C "$dir" carried
echo "$out: $(du -h "$out" | cut -f1)"
