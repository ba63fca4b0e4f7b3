#!/bin/sh
# Stands in for mpiexec in the tests: memcheck.sh -n N program ..., with each rank below compute-sanitizer
[ "$1" = -n ] || { echo "memcheck.sh: expects -n N program" >&2; exit 2; }
n=$2
shift 2
exec mpiexec -n "$n" compute-sanitizer --tool memcheck --error-exitcode 9 --target-processes all --log-file "$MEMCHECK_LOGS/%p.log" "$@"
