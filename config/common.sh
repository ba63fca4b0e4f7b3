# What petsc.sh and hypre.sh share. They set why, and here, the folder of this file

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$*"; exit 1; }

install_packages() { "$here/packages.sh" "$why" "$@"; }

cache=${XDG_CACHE_HOME:-$HOME/.cache}/petsc-bai

# alone NAME: one at a time comes further, until it ends
alone()
{
  mkdir -p "$cache"
  exec 9>"$cache/$1.lock"
  flock -n 9 || { say "waiting for another one that builds it"; flock 9; }
}

# Runs a command with its output in a log, and a progress line: the lines written so far, of how many are expected
logged()
{
  what=$1 log=$2 expect=$3; shift 3
  : >"$log"
  "$@" >>"$log" 2>&1 &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    if [ -t 2 ]; then printf '\r%s: %s of about %s lines' "$what" "$(wc -l <"$log")" "$expect" >&2; sleep 2
    else n=$((${n:-0} + 1)); [ $((n % 30)) != 1 ] || say "$what: $(wc -l <"$log") of about $expect lines"; sleep 2; fi
  done
  [ ! -t 2 ] || echo >&2
  wait $pid || { tail -n 30 "$log" >&2; die "$what failed, see $log"; }
}

# Sets CUDA_HOME, and arch, the compute capability without the dot
find_cuda()
{
  : "${CUDA_HOME:=$(dirname "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")}"
  [ -x "$CUDA_HOME/bin/nvcc" ] || die "no nvcc in $CUDA_HOME/bin: install the CUDA toolkit or set CUDA_HOME"
  arch=${CUDA_ARCH:-$( { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
    sed -n '1s/\.//p')}
  arch=${arch:-90}
}
