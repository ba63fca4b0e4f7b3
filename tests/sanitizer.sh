#!/bin/sh
# Stands in for mpiexec in the tests: sanitizer.sh -n N program ..., with each rank below a tool of compute-sanitizer
# Environment: TOOL: memcheck, initcheck, racecheck or synccheck; SANITIZER_LOGS: folder for one log a process
[ "$1" = -n ] || { echo "sanitizer.sh: expects -n N program" >&2; exit 2; }
n=$2
shift 2
# In cuSPARSE's kernels racecheck and initcheck find what is none of ours, so racecheck leaves them out. initcheck must
# see all kernels, as ours read what others wrote: its reports are told apart by who reads them
case $TOOL in
  racecheck) options='--kernel-name-exclude kns=cusparse --error-exitcode 9' ;;
  initcheck) options='--print-limit 0' ;;
  *) options='--error-exitcode 9' ;;
esac
exec mpiexec -n "$n" compute-sanitizer --tool "$TOOL" $options --target-processes all \
  --log-file "$SANITIZER_LOGS/%p.log" "$@"
