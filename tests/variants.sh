#!/bin/sh
# The library needs no more than it uses, and one that was built for another PETSc says so when a program loads it
#   tests/variants.sh DIR LIBRARY PROGRAM COMPILE...
#
# Builds what registers the library for other PETSc, and loads it into PROGRAM: for other variants of the same release,
# with the options that make PETSc's headers theirs; and for other releases that are here. LIBRARY, the one of this
# PETSc, is loaded by programs of those. Lines in the form of PETSc's test harness go to stdout and DIR/tap. COMPILE:
# the command that compiles a shared library. Environment: HAVE: what there is of what tests require; PETSC_PREFIX
dir=$1 library=$2 program=$3; shift 3
mkdir -p "$dir"
: >"$dir/tap"
register='src/ksp/bai/dlregisbai.c tests/variants/register.c'

say() { echo "$*" | tee -a "$dir/tap"; }

# refused NAME PROGRAM LIBRARY WORDS: the program does not load the library, and says so in these words
refused()
{
  log=$dir/$1/log
  if "$2" -dll_append "$3" >"$log" 2>&1; then say "not ok variants-$1 # was loaded"
  elif tr '\n' ' ' <"$log" | grep -q "$4"; then say "ok variants-$1"
  else say "not ok variants-$1 # $(grep -m 1 'PETSC ERROR: [^-]' "$log")"; fi
}

# built NAME COMMAND...: whether it compiles
built()
{
  name=$1; shift
  mkdir -p "$dir/$name"
  "$@" >"$dir/$name/log" 2>&1 || { say "not ok variants-$name # does not compile: $dir/$name/log"; return 1; }
}

# variant NAME OPTIONS WORDS
variant()
{
  lib=$dir/$1/libpetscbai.so
  built "$1" $compile $2 $register -o "$lib" || return
  refused "$1" "$program" "$lib" "built for PETSc [0-9.]* ($3) and cannot be used with PETSc [0-9.]* ("
}

# The answer of pkg-config about a PETSc
of() { pkg-config "$@" 2>/dev/null; }

# release FILE OF PKG-CONFIG: one of this release does not count, nor a second one of another
release()
{
  other=$(of --modversion "$1" | cut -d. -f1,2) cc=$(of --variable=ccompiler "$1")
  case " $this $others " in *" $other "*) return ;; esac
  command -v "$cc" >/dev/null && ls "$(of --variable=libdir "$1")"/libpetsc* >/dev/null 2>&1 || return
  others="$others $other" lib=$dir/$other-in-$this/libpetscbai.so
  cflags="-Iinclude $(of --cflags "$1") $(of --variable=cudainclude "$1")"
  libs="-Wl,--no-as-needed $(of --libs "$1") -Wl,-rpath,$(of --variable=libdir "$1")"
  ! built "$other-in-$this" $cc -shared -fPIC $cflags $register -o "$lib" $libs ||
    refused "$other-in-$this" "$program" "$lib" "built for PETSc $other and cannot be used with PETSc $this:"
  # A PETSc of a wheel has a BLAS whose name is that of the system's, with which the system's PETSc cannot be loaded
  case $1 in
  *-headers-*) say "ok variants-$this-in-$other # SKIP a PETSc that is not from a wheel required" ;;
  *)
    printf '%s\n' '#include <petscsys.h>' 'int main(int argc, char **argv)' \
      '{ return PetscInitialize(&argc, &argv, NULL, NULL) || PetscFinalize(); }' >"$dir/program.c"
    ! built "$this-in-$other" $cc $cflags "$dir/program.c" -o "$dir/$this-in-$other/program" $libs ||
      refused "$this-in-$other" "$dir/$this-in-$other/program" "$library" \
        "built for PETSc $this and cannot be used with PETSc $other:"
    ;;
  esac
}

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
more=$(echo "$needed" | grep -vE '^(libpetsc|libmpi(ch)?\.|libcudart\.|libgomp\.|libi?omp|lib(asan|ubsan)\.)' |
  grep -vE '^(lib(c|m|stdc\+\+|gcc_s|dl|rt|pthread)|ld-linux.*)\.so')
case $needed in
*libpetsc*) if [ -z "$more" ]; then say 'ok variants-needed'; else say "not ok variants-needed #" $more; fi ;;
*) say 'not ok variants-needed # no libpetsc' ;;
esac

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

this=$(PKG_CONFIG_PATH=$PETSC_PREFIX/lib/pkgconfig of --modversion petsc | cut -d. -f1,2) others=
for petsc in /usr/lib/petsc "${XDG_CACHE_HOME:-$HOME/.cache}"/petsc-bai/petsc-*; do
  release "$petsc/lib/pkgconfig/petsc.pc"
done
[ -n "$others" ] || say 'ok variants-release # SKIP a PETSc of another release required'
