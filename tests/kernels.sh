#!/bin/sh
# What nvcc said of the kernels when it compiled them (--resource-usage)
#   tests/kernels.sh report LOG...         the kernels of each unit: registers, bytes of spill stores and loads
#   tests/kernels.sh check LIMITS LOG...   lines in the form of PETSc's test harness: whether they are within limits
#
# Environment, for check: NVCC, empty if the library is without CUDA; HAVE: has the word plain if PETSc's scalars are
# real, in double precision, and its indices 32-bit
what=$1; shift
[ "$what" = report ] || { limits=$1; shift; }

# Lines of: unit, architecture, registers, bytes of spill stores, of spill loads, kernel
kernels()
{
  for log; do
    awk -v unit="$(basename "$log" .cu.log)" '
      /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
      /bytes spill stores/ { stores = $5; loads = $9 }
      /Used [0-9]* registers/ { sub(/.*Used /, ""); print unit, arch, $1, stores, loads, name }' "$log"
  done | c++filt | sed 's/ void / /; s/(BAIOrder)//g; s/(anonymous namespace):://g; s/>(Problem)$/>/; s/(bool)//g
    s/ \(cub::\)[^<(]*::\([A-Za-z]*\)[<(].*/ \1\2/; s/(\(BAI\|int\|Extent\).*//'
}

if [ "$what" = report ]; then
  kernels "$@" | sort -k2,2 -k1,1 -k6 | awk '
    { if ($2 != arch) { if (arch) print all[arch] " kernels for " arch; arch = $2 }
      if ($1 arch != unit) { unit = $1 arch; print arch " " $1 ": registers, bytes of spill stores and loads" }
      all[arch]++
      printf "  %4d %4d %4d  %s\n", $3, $4, $5, substr($0, index($0, $6)) }
    END { if (arch) print all[arch] " kernels for " arch }'
  exit
fi

skip() { echo "ok kernels # SKIP $* required"; exit; }
arch=$(sed -n 's/^arch *//p' "$limits") version=$(sed -n 's/^nvcc *//p' "$limits")
[ -n "$NVCC" ] || skip nvcc
case " $HAVE " in *" plain "*) ;; *) skip plain ;; esac
found=$("$NVCC" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
[ "$found" = "$version" ] || skip "nvcc $version"
all=$(mktemp)
trap 'rm -f "$all"' EXIT
kernels "$@" | awk -v arch="$arch" '$2 == arch' >"$all"
[ -s "$all" ] || skip "code for $arch"

# Whether so many kernels are within a limit: name of the test, number, limit
within()
{
  if [ "$2" -le "$3" ]; then echo "ok kernels-$1"
  else echo "not ok kernels-$1 # $2, at most $3: see docs/architecture.md"; fi
}

within number "$(wc -l <"$all")" "$(sed -n 's/^kernels *//p' "$limits")"
begin=$(sed -n 's/^iterate *[0-9]* *//p' "$limits" | tr -s ' ' '|')
within iterate "$(awk -v begin="^($begin)[A-Za-z]*(<|$)" 'substr($0, index($0, $6)) ~ begin' "$all" | wc -l)" \
  "$(sed -n 's/^iterate *\([0-9]*\).*/\1/p' "$limits")"
most=$(awk '
  { n[$1]++ }
  END { for (unit in n) if (n[unit] > most) { most = n[unit]; at = unit } print most, at }' "$all")
within "unit" "${most%% *}" "$(sed -n 's/^unit *//p' "$limits")" | sed "/^not/s/\$/ (${most#* }.cu)/"
sed -n 's/^limit *//p' "$limits" | while read -r registers spill name; do
  awk -v name="$name" -v registers="$registers" -v spill="$spill" '
    substr($0, index($0, $6)) != name { next }
    { found = 1; if ($3 > registers) why = $3 " registers, at most " registers
      if ($4 > spill) why = why " " $4 " bytes spilled, at most " spill }
    END { id = name; gsub(/[^A-Za-z0-9]+/, "_", id); sub(/_$/, "", id)
      if (!found) why = "there is no such kernel"
      print (why ? "not ok" : "ok") " kernels-" id (why ? " # " why : "") }' "$all"
done
