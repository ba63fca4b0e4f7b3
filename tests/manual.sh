#!/bin/sh
# Runs the commands of a page; for each block of them a line in the form of PETSc's test harness goes to stdout and
# DIR/tap
#   tests/manual.sh PAGE.md DIR [PATTERN of the blocks' names]: PAGE-SECTION_N
#
# A block ```sh is a test, run in a folder of its own below DIR. What it requires stands after sh, as in ```sh requires:
# cuda; plain: real scalars in double precision and 32-bit indices; double: double precision; threads: OpenMP.
# The block ```c before it is its program.c. The test fails if a command does, if a solver did not converge, if an
# option was not used, or if the output lacks a line of the block ```text after it.
#
# Environment: PROGRAMS, TUTORIALS: files to find in the folder and in its folder tutorials; HAVE: what there is of what
# blocks require; PETSC_PREFIX, CC, MPIEXEC, and PYTHON, if petsc4py is not in the usual one; PREFIX: where the library
# is installed
page=$(basename "$1" .md) dir=$2 pattern=${3:-.}
rm -rf "$dir"/run
mkdir -p "$dir/run" "$dir/home" "$dir/bin"

# The command $1 of the page is here the program $2 with the arguments that follow
wrapper()
{
  name=$1 program=$(command -v "$2"); shift 2
  printf '#!/bin/sh\nexec %s "$@"\n' "$program $*" >"$dir/bin/$name"
  chmod 755 "$dir/bin/$name"
}
wrapper mpicc $CC
wrapper mpiexec $MPIEXEC
export PATH="$dir/bin:$PATH" HOME="$dir/home" OMP_NUM_THREADS=2
export PYTHONPATH="$PETSC_PREFIX/lib${PYTHONPATH:+:$PYTHONPATH}"
for python in ${PYTHON:-python3 /usr/bin/python3}; do
  "$python" -c '
import os, sys, petsc4py
config = petsc4py.get_config()
sys.exit(os.path.realpath(os.path.join(config["PETSC_DIR"], config["PETSC_ARCH"])) != os.path.realpath(sys.argv[1]))
' "$PETSC_PREFIX" 2>/dev/null || continue
  HAVE="$HAVE petsc4py"
  for module in matplotlib skfem; do
    ! "$python" -c "import $module" 2>/dev/null || HAVE="$HAVE $module"
  done
  break
done

export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig:$PETSC_PREFIX/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export LD_LIBRARY_PATH="$PREFIX/lib:$PETSC_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
printf -- '-ksp_converged_reason\n-options_left\n' >"$dir/home/.petscrc"
export PETSC_OPTIONS="${PETSC_OPTIONS:-} -dll_append $BAI_LIB" # as the pages tell readers to do

# One folder for each block: SECTION_N/commands, requires, expected, program.c
awk -v run="$dir/run" '
  function folder(n) { return run "/" section "_" n }
  /^```/ && file { close(file); file = ""; next }
  /^#/ && !file { section = tolower($0); sub(/^#+ */, "", section); gsub(/[^a-z0-9]+/, "_", section); n = 0 }
  /^```sh/ {
    n++
    system("mkdir -p " folder(n))
    print section "_" n >(run "/tests")
    requires = $0; if (!sub(/.*requires:/, "", requires)) requires = ""
    print requires >(folder(n) "/requires")
    file = folder(n) "/commands"
  }
  /^```text/ { file = folder(n) "/expected" }
  /^```c$/ { system("mkdir -p " folder(n + 1)); file = folder(n + 1) "/program.c" }
  /^```/ { if (!file) file = "/dev/null"; next }
  file { print >file }' "$1"

while read -r name; do
  cd "$dir/run/$name" || exit 1
  echo "$page-$name" | grep -q -e "$pattern" || continue
  missing=
  for what in $(cat requires); do
    case " $HAVE " in *" $what "*) ;; *) missing="$missing $what" ;; esac
  done
  if [ -n "$missing" ]; then
    echo "ok $page-$name # SKIP${missing} required"
    continue
  fi
  mkdir tutorials
  ln -s $PROGRAMS .
  ln -s $TUTORIALS tutorials
  touch expected
  why=
  sed -i "s|python3|$python|" commands # not by PATH, which mpiexec may change
  timeout 120 sh -e ./commands >output 2>&1 </dev/null || why="error code $?"
  sed -i 's/^ *//; s/ *$//' output expected
  grep -vxFf expected output | grep -E 'did not converge|Option left' >wrong && why="$why; $(head -n 1 wrong)"
  while read -r line; do
    grep -qxF -e "$line" output || why="$why; no output: $line"
  done <expected
  if [ -z "$why" ]; then
    echo "ok $page-$name"
  else
    echo "not ok $page-$name # ${why#; }"
    sed 's/^/#	/' commands output
  fi
done <"$dir/run/tests" | tee "$dir/tap"
[ -s "$dir/tap" ] || { echo "$1: no block is named like $pattern" >&2; exit 1; }
