#!/bin/sh
# Stands in for mpiexec in the tests: sanitizer.sh -n N program ..., with each rank below a tool of compute-sanitizer
# Environment: TOOL: memcheck, initcheck, racecheck or synccheck; SANITIZER_LOGS: folder for one log a process
[ "$1" = -n ] || { echo "sanitizer.sh: expects -n N program" >&2; exit 2; }
n=$2
shift 2
# of cuSPARSE and other libraries racecheck and initcheck report what is none of ours: those look at our own kernels only
case $TOOL in
  racecheck | initcheck) ours='--kernel-regex kernel_substring=bai' ;;
  *) ours= ;;
esac
exec mpiexec -n "$n" compute-sanitizer --tool "$TOOL" $ours --error-exitcode 9 --target-processes all --log-file "$SANITIZER_LOGS/%p.log" "$@"
