#!/bin/sh
# The Python package: pip makes a wheel and installs it, without network; then programs, petsc4py and matrices of SciPy
# use its library
#   tests/pip.sh DIR LIBRARY PROGRAM COMPILE...
#
# With network, the notebooks of tutorials/ are run, in an environment with what they need, and the two commands of
# docs/manual.md for a PETSc in a wheel follow, in an environment of their own.
# Lines in the form of PETSc's test harness go to stdout and DIR/tap. LIBRARY: the one of this PETSc. PROGRAM: PETSc's
# ex2. COMPILE: the command that compiles a shared library. Environment: LIBS: what that is linked with; HAVE: what
# there is of what tests require; PETSC_PREFIX, MPIEXEC; PYTHON, if petsc4py is not in the usual one
dir=$1 library=$2 program=$3; shift 3
rm -rf "$dir"
mkdir -p "$dir"
: >"$dir/tap"
compile=$*

say() { echo "$*" | tee -a "$dir/tap"; }

# check NAME "REQUIRED ..." COMMAND: COMMAND succeeds, if there is what is required
check()
{
  name=$1 missing=
  for what in $2; do
    case " $HAVE " in *" $what "*) ;; *) missing="$missing $what" ;; esac
  done
  shift 2
  if [ -n "$missing" ]; then say "ok pip-$name # SKIP$missing required"
  elif "$@" >"$dir/$name.log" 2>&1; then say "ok pip-$name"
  else say "not ok pip-$name # $(tail -n 1 "$dir/$name.log")"; fi
}

# The first Python with this PETSc's petsc4py, else the first that can make wheels
export PETSC_DIR="$PETSC_PREFIX" PETSC_ARCH=
export PYTHONPATH="$PETSC_PREFIX/lib${PYTHONPATH:+:$PYTHONPATH}"
for what in petsc4py pip; do
  for python in ${PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c '
import os, sys, setuptools, pip
try:
    import setuptools.command.bdist_wheel
except ImportError:
    import wheel
if sys.argv[1] == "petsc4py":
    import petsc4py
    config = petsc4py.get_config()
    sys.exit(os.path.realpath(os.path.join(config["PETSC_DIR"], config["PETSC_ARCH"])) != os.path.realpath(sys.argv[2]))
' $what "$PETSC_PREFIX" 2>/dev/null || continue
    HAVE="$HAVE pip"
    [ $what = pip ] || HAVE="$HAVE petsc4py"
    break 2
  done
done

wheel()
{
  "$python" -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir "$dir" . &&
    "$python" -m pip install --no-index --no-deps --target "$dir/site" "$dir"/petscbai-*.whl &&
    cmp "$library" "$("$python" -m petscbai)" &&
    for header in include/*.h; do cmp "$header" "$dir/site/petscbai/$header" || return 1; done &&
    [ "$("$python" -c 'import petscbai; print(petscbai.__version__)')" = \
      "$(awk '/define PETSCBAI_VERSION_/ { v = v s $3; s = "." } END { print v }' include/petscbai.h)" ]
}
loads() { "$program" -dll_append "$("$python" -m petscbai)" -ksp_type bai -ksp_error_if_not_converged; }

# refused WORDS COMMAND...: it fails, and says so
refused()
{
  words=$1; shift
  if "$@" >"$dir/output" 2>&1; then echo 'was loaded'; return 1; fi
  tr '\n' ' ' <"$dir/output" | grep -q "$words" || { cat "$dir/output"; return 1; }
}
# A library for complex scalars in place of the one that was installed
variant()
{
  $compile -DPETSC_USE_COMPLEX=1 src/ksp/bai/dlregisbai.c tests/variants/register.c $LIBS \
    -o "$dir/site/petscbai/lib/libpetscbai.so" &&
    refused 'built for PETSc [0-9.]* (complex.*ImportError: .*another PETSc' "$python" tests/pip_solve.py after 60 &&
    refused 'built for PETSc [0-9.]* (complex' "$python" tests/pip_solve.py before 60
}

export PYTHONPATH="$dir/site:$PYTHONPATH" PYTHONDONTWRITEBYTECODE=1
check wheel pip wheel
check program pip loads
check uninitialized pip refused 'built for PETSc [0-9.]*, which is not initialized' \
  "$python" -c 'import ctypes, petscbai; raise SystemExit(ctypes.CDLL(petscbai.library()).BAIInitializePackage())'
check before 'pip petsc4py plain' "$python" tests/pip_solve.py before 60
check after 'pip petsc4py plain' "$python" tests/pip_solve.py after 60
check ranks 'pip petsc4py plain' "$MPIEXEC" -n 2 "$python" tests/pip_solve.py before 60

# What takes SciPy's matrices, and the notebooks: if need be in an environment with what PyPI has for them
books=$python
case " $HAVE " in *' petsc4py '*) wanted=1 ;; *) wanted= ;; esac
if [ "$wanted" ] && ! "$books" -c 'import scipy, pyamg, nbconvert, ipykernel, skfem, matplotlib' 2>/dev/null; then
  books=$dir/books/bin/python
  "$python" -m venv --system-site-packages "$dir/books" &&
    "$books" -m pip install --quiet pyamg nbconvert ipykernel scikit-fem 'matplotlib>=3.7' \
      "$("$python" -c 'import numpy; print("numpy<" + str(int(numpy.__version__.split(".")[0]) + 1))')" &&
    "$books" -c 'import petsc4py' || books=$python
fi >"$dir/books.log" 2>&1
for module in scipy pyamg cupy nbconvert skfem matplotlib; do
  ! "$books" -c "import $module" 2>/dev/null || HAVE="$HAVE $module"
done
for case in $(python3 tests/pip_scipy.py); do
  needs= ranks=
  case $case in
  cuda | pyamg) needs=$case ;;
  cupy_*) needs='cuda cupy' ;;
  ranks) ranks="$MPIEXEC -n 2" ;;
  esac
  check scipy-$case "pip petsc4py scipy $needs" $ranks "$books" tests/pip_scipy.py $case
done
for book in poisson heat; do
  check $book 'pip petsc4py plain scipy nbconvert skfem matplotlib' \
    "$books" -m nbconvert --to notebook --execute --output-dir "$dir" tutorials/$book.ipynb
done

awk '/^```python$/ { inside = 1; next } /^```/ { inside = 0 } inside' docs/manual.md >"$dir/manual.py"
check manual 'pip petsc4py scipy' "$python" -W error::UserWarning "$dir/manual.py"

check variant 'pip petsc4py plain' variant

# A PETSc without headers, in the wheel of DOLFINx, which needs Python 3.12
unset PETSC_DIR PETSC_ARCH PYTHONPATH MAKEFLAGS MFLAGS MAKEOVERRIDES # what make was told is for the PETSc above
fresh=$dir/fresh/bin
for new in ${PYTHON:-python3} python3.14 python3.13 python3.12 "${PYENV_ROOT:-/none}"/versions/3.1[2-9]*/bin/python3; do
  "$new" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && "$new" -m venv "$dir/fresh" &&
    "$fresh/pip" install --quiet dolfinx-solver-real >"$dir/fresh.log" 2>&1 && HAVE="$HAVE dolfinx-wheel" && break
done
# Headers are kept beside the folder, for the next time
installs()
{
  XDG_CACHE_HOME=$dir-cache NVCC= "$fresh/pip" install -v . >"$dir/output" 2>&1 || { cat "$dir/output"; return 1; }
  grep 'takes the PETSc of petsc4py: .*/petsc-bai/petsc-.*-headers-' "$dir/output"
}
solves() { "$fresh/python" -c 'import dolfinx_solver, runpy; runpy.run_path("tests/pip_solve.py")' "$@"; }
# The package for the PETSc of the other tests, beside this petsc4py
other()
{
  export PYTHONPATH="$dir/site"
  refused 'ImportError: libpetscbai was built for PETSc [0-9.]* and cannot be used with PETSc [0-9.]*' solves before 60
}
check dolfinx dolfinx-wheel installs
check dolfinx-before dolfinx-wheel solves before 60
check dolfinx-after dolfinx-wheel solves after 60
check dolfinx-ranks dolfinx-wheel "$fresh/mpiexec" -n 2 "$fresh/python" -c \
  'import dolfinx_solver, runpy; runpy.run_path("tests/pip_solve.py")' before 60
check dolfinx-other 'pip dolfinx-wheel' other
