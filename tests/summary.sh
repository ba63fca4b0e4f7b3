#!/bin/sh
# Sums up what PETSc's test harness logged: the failures, the skipped by name, and a closing line
#   tests/summary.sh TESTDIR
log=$(ls "$1"/test_*_tap.log) || exit 1
grep '^ *not ok' "$log"
sed -n 's/^ *ok \(.*\) # SKIP \(.*\)/skipped: \1 (\2)/p' "$log"
skipped=$(grep -c '# SKIP' "$log")
failed=$(grep -c '^ *not ok' "$log")
passed=$(($(grep -c '^ *ok' "$log") - skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
