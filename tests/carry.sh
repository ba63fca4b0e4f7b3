#!/bin/sh
# Packs the built tests so that they run where there is no PETSc: tests/carry.sh BUILD_DIR PETSC_PREFIX OUT.tar.gz
# There: tar -xzf OUT.tar.gz && bash carried/run.sh, which says below what else it can do
# Environment: HAVE: what there is of what the blocks of manual and tutorial require; BENCH: arguments of bench on a GPU
set -eu
build=$(realpath "$1") prefix=$(realpath "$2") out=$3 src=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
to=$dir/carried
mkdir -p "$to/lib" "$to/petsc/lib/petsc" "$to/petsc/share/petsc/examples/config" "$to/src"
cp "$build/lib/libpetscbai.so" "$to/lib"
for l in $(ldd "$build/lib/libpetscbai.so" | awk '/libpetsc/ && /=>/{print $3}'); do cp -L "$l" "$to/lib"; done
for l in $(ldd "$build/tests/bench/multigrid" | awk '/libHYPRE/ && /=>/{print $3}'); do cp -L "$l" "$to/lib"; done
strip --strip-unneeded "$to"/lib/libpetsc.so* "$to"/lib/libHYPRE* 2>/dev/null || true
harness=$(sed -n "s/^config_dir='\(.*\)'/\1/p" "$(find "$build/tests" -name 'run*.sh' | head -n 1)")
petsc_bin=$(sed -n "s/^petsc_bindir='\(.*\)'/\1/p" "$(find "$build/tests" -name 'run*.sh' | head -n 1)")
cp "$harness/petsc_harness.sh" "$to/petsc/share/petsc/examples/config"
mkdir -p "$to/petsc/lib/petsc/bin"
cp "$petsc_bin/petscdiff" "$to/petsc/lib/petsc/bin"
for d in tests tutorials; do
  mkdir -p "$to/src/$d" "$to/tests/$d"
  cp -r "$src/$d/output" "$src/$d"/*.c "$to/src/$d"
  cp "$build/tests/$d"/run*.sh "$to/tests/$d"
  # Fortran's library is not carried
  for f in "$src/$d"/*.F90; do rm -f "$to/tests/$d/run$(basename "$f" .F90)"_*.sh; done
  for f in "$src/$d"/*.c; do
    program=$build/tests/$d/$(basename "$f" .c)
    [ ! -x "$program" ] || cp "$program" "$to/tests/$d"
  done
  [ ! -d "$src/$d/data" ] || { cp -r "$src/$d/data" "$to/src/$d"; cp -r "$src/$d/data" "$to/tests/$d"; }
done
cp "$src"/tutorials/*.py "$to/tests/tutorials"
for f in "$src"/bench/*.c; do cp "$build/tests/bench/$(basename "$f" .c)" "$to"; done
mkdir -p "$to/experiments"
cp "$src"/experiments/*.py "$to/experiments"
for f in "$src"/experiments/*.c; do cp "$build/tests/experiments/$(basename "$f" .c)" "$to/experiments"; done
cp "$src/tests/summary.sh" "$src/tests/sanitizer.sh" "$src/tests/sanitizer.txt" "$src/tests/manual.sh" \
  "$src/docs/manual.md" "$src/docs/tutorial.md" "$to"
find "$build/tests/petsc" -type f -exec cp {} "$to/petsc" \;
echo "$HAVE" >"$to/have"
echo "${BENCH:-}" >"$to/bench.args"
printf '%s\n' "$build/tests" "$harness" "$petsc_bin" "$src" >"$to/paths"
cat >"$to/run.sh" <<'RUN'
#!/bin/bash
# Runs the tests packed here:
#   run.sh [PATTERN]          all, or those whose names match
#   run.sh TOOL [PATTERN]     the same below that tool of compute-sanitizer: memcheck, initcheck, racecheck or
#                             synccheck; the last three are slow, and without a PATTERN run what sanitizer.txt lists
#   run.sh manual [PATTERN]   the manual's commands; run.sh tutorial [PATTERN] those of the tutorial
#   run.sh experiments ARGS   those of the papers: see experiments/run.py, as in
#                             run.sh experiments --gpus 1 --out DIR faults theta
#   run.sh bench ARGS         what make bench GPU=1 does: -csv bench.csv -device NAME -commit NAME
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-} BAI_LIB=$here/lib/libpetscbai.so
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
export PETSC_OPTIONS="${PETSC_OPTIONS:-} -use_gpu_aware_mpi 0"
if [ -f "$here/paths" ]; then
  { read -r tests; read -r harness; read -r bin; read -r src; } <"$here/paths"
  sed -i -e "s|$tests|@here@/tests|g" -e "s|$harness|@here@/petsc/share/petsc/examples/config|g" \
    -e "s|$bin|@here@/petsc/lib/petsc/bin|g" -e "s|$src|@here@/src|g" -e "s|@here@|$here|g" \
    -e 's|/usr/bin/mpiexec|mpiexec|' "$here"/tests/*/run*.sh
  mv "$here/paths" "$here/paths.old"
fi
if [ "${1:-}" = manual ] || [ "${1:-}" = tutorial ]; then
  export PROGRAMS=$(echo "$here"/petsc/ex*) TUTORIALS=$(echo "$here"/tests/tutorials/{ex?,*.py})
  export HAVE=$(cat "$here/have")
  export PETSC_PREFIX=$here CC=false MPIEXEC=mpiexec PYTHON=${PYTHON:-false} PREFIX=$here
  sh "$here/manual.sh" "$here/$1.md" "$here/$1" "${2:-.}"
  ! grep -q '^not ok' "$here/$1/tap"
  exit
fi
if [ "${1:-}" = experiments ]; then
  shift
  export PYTHONDONTWRITEBYTECODE=1
  exec python3 "$here/experiments/run.py" --programs "$here" "$@"
fi
if [ "${1:-}" = bench ]; then
  shift
  exec "$here/bench" -mat_type aijcusparse $(cat "$here/bench.args") "$@"
fi
tool=
case "${1:-}" in
  memcheck | initcheck | racecheck | synccheck)
    tool=$1
    shift
    export TOOL=$tool PETSCMPIEXEC="sh $here/sanitizer.sh" SANITIZER_LOGS=$here/$tool
    rm -rf "$SANITIZER_LOGS"
    mkdir -p "$SANITIZER_LOGS"
    ;;
esac
rm -rf "$here"/tests/counts "$here"/tests/test_*.log
if [ -n "$tool" ] && [ "$tool" != memcheck ] && [ -z "${1:-}" ]; then
  while read -r test cases loops; do
    env "$cases" $loops bash "$here/tests/tests/run$test.sh" -t 600 -e "-${cases/=/ }" &
  done < <(grep -v '^#' "$here/sanitizer.txt") >"$here/log" 2>&1
  wait
else
  for script in "$here"/tests/*/run*.sh; do
    name=${script#"$here/tests/"} name=${name/\/run/-}
    if [[ ${name%.sh} =~ ${1:-.} ]]; then echo "$script"; fi
  done | xargs -P "${JOBS:-$(nproc)}" -I{} bash {} ${tool:+-t 600} >"$here/log" 2>&1
fi
sh "$here/summary.sh" "$here/tests" "$here/src" "${1:-.}" | grep -v '^skipped' ; status=${PIPESTATUS[0]}
if [ -n "$tool" ]; then
  runs=$(cat "$SANITIZER_LOGS"/* | grep -cE '(ERROR|RACECHECK) SUMMARY:')
  case $tool in
    initcheck) # see sanitizer.sh
      wrong=$(grep -lE '^=+ +at .*BAI|Host Frame: BAI[A-Za-z]*\(BAIState_' "$SANITIZER_LOGS"/* | wc -l)
      ;;
    *)
      wrong=$(cat "$SANITIZER_LOGS"/* | grep -E '(ERROR|RACECHECK) SUMMARY:' |
        grep -vcE 'SUMMARY: 0 (errors|hazards)')
      ;;
  esac
  echo "compute-sanitizer $tool: $((runs - wrong)) clean runs, $wrong with errors"
  [ "$runs" -gt 0 ] && [ "$wrong" = 0 ] || status=1
fi
exit $status
RUN
mkdir -p "$(dirname "$out")"
tar -czf "$out" -C "$dir" carried
echo "$out: $(du -h "$out" | cut -f1)"
