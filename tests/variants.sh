#!/bin/sh
# A library that was built for another variant of the same PETSc release must say so, and name both, when a program
# loads it
#   tests/variants.sh DIR LIBRARY PROGRAM COMPILE...
#
# Builds what registers the library with the options that make PETSc's headers those of another variant, for each of
# them, and loads it into PROGRAM; lines in the form of PETSc's test harness go to stdout and DIR/tap. LIBRARY: the one
# of this PETSc. COMPILE: the command that compiles a shared library
dir=$1 library=$2 program=$3; shift 3
mkdir -p "$dir"
: >"$dir/tap"

say() { echo "$*" | tee -a "$dir/tap"; }

# variant NAME OPTIONS WORDS
variant()
{
  name=$1 options=$2 words=$3
  mkdir -p "$dir/$name"
  lib=$dir/$name/libpetscbai.so
  if ! $compile $options src/ksp/bai/dlregisbai.c tests/variants/register.c -o "$lib" >"$dir/$name/log" 2>&1; then
    say "not ok variants-$name # does not compile: $dir/$name/log"
    return
  fi
  if "$program" -dll_append "$lib" >"$dir/$name/log" 2>&1; then say "not ok variants-$name # was loaded"
  elif tr '\n' ' ' <"$dir/$name/log" |
    grep -q "built for PETSc [0-9.]* ($words) and cannot be used with PETSc [0-9.]* ("; then say "ok variants-$name"
  else say "not ok variants-$name # $(grep -m 1 'PETSC ERROR: [^-]' "$dir/$name/log")"; fi
}

compile=$*
if "$program" -dll_append "$library" >"$dir/log" 2>&1; then say "ok variants-same"
else say "not ok variants-same # $(grep -m 1 'PETSC ERROR: [^-]' "$dir/log")"; fi
case " $HAVE " in
*" plain "*)
  variant complex -DPETSC_USE_COMPLEX=1 'complex scalars of double precision, 32-bit indices'
  variant 64bit -DPETSC_USE_64BIT_INDICES=1 'real scalars of double precision, 64-bit indices'
  ;;
*)
  say 'ok variants-complex # SKIP plain required'
  say 'ok variants-64bit # SKIP plain required'
  ;;
esac
