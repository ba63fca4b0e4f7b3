#!/bin/sh
# Sums up what PETSc's test harness logged: the failures, the tests skipped by name, and a closing line
#   tests/summary.sh TESTDIR SRCDIR [PATTERN of the names of the tests that were to run]
pattern=${3:-.}
log=$(ls "$1"/test_*_tap.log 2>/dev/null | head -n 1)
log=${log:-/dev/null}
for source in "$2"/tests/*.c; do # where there are docs, they list the tests
  program=$(basename "$source" .c)
  [ "$pattern" != . ] || [ ! -f "$2/docs/architecture.md" ] || grep -q "^| \`$program\`" "$2/docs/architecture.md" ||
    echo "not ok index-$program # docs/architecture.md does not list it" >>"$log"
done
grep '^ *not ok' "$log"
sed -n '/Command failed/d; s/^ *ok \([^ ]*\) # SKIP \(.*\)/skipped: \1 (\2)/p' "$log" >"$1/skipped"
# newer harnesses say nothing of a test that this configuration cannot run
for source in "$2"/tests/*.c "$2"/tutorials/*.c "$2"/tutorials/*.F90; do
  [ -f "$source" ] || continue
  dir=$(basename "$(dirname "$source")") program=$(basename "${source%.*}")
  for suffix in $(sed -n 's/^!* *suffix: *//p' "$source"); do
    name=${program}_$suffix
    echo "$dir-$name" | grep -q -e "$pattern" || continue
    find "$1/$dir" -maxdepth 1 -name "run$name.sh" -o -maxdepth 1 -name "run${name}_*.sh" | grep -q . ||
      grep -q " $dir-$name " "$1/skipped" || echo "skipped: $dir-$name" >>"$1/skipped"
  done
done
cat "$1/skipped"
skipped=$(wc -l <"$1/skipped")
failed=$(grep -c '^ *not ok' "$log")
passed=$(grep '^ *ok' "$log" | grep -vc '# SKIP')
echo "$passed passed, $failed failed, $skipped skipped"
[ "$((passed + failed + skipped))" -gt 0 ] || echo "no test is named like $pattern" >&2
[ "$failed" = 0 ] || exit 1
[ "$passed" -gt 0 ] || { [ "$pattern" != . ] && [ "$skipped" -gt 0 ]; } # a pattern may name what cannot run here
