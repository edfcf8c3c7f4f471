#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs one part of gpu_check with nothing but CUDA, cuDNN, NCCL and a C++20 compiler, and keeps what it prints in
# benchmarks/results/gpu-<part>.txt (RESULTS=FOLDER: there). Each part stays under 10 minutes.
#
#   run.sh build | correctness | operators | roofline | networks | simulator | sanitizer | all  [options of gpu_check]
#   run.sh ranks [options of gpu_ranks]   over 2 and 4 ranks of MPI (MPICH), which NCCL connects though they may have one GPU
#   run.sh --make-believe PART ...   on the processor, tiny, to see that a part runs at all
#
# networks with one network alone: run.sh networks --only resnet50. Environment: CXX, CUDA_HOME, CUDNN_ROOT, NCCL_ROOT, PYTHON (one with
# PyTorch), MPICXX and MPIRUN (of MPICH), FASHION_MNIST (folder of its four files, packed or not), BUILD (where programs go), SECONDS_PER_PART.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

believe=
if [[ ${1:-} == --make-believe ]]; then
  believe=1
  shift
fi
part=${1:-}
[[ -n $part ]] && shift
case $part in
  build | correctness | operators | roofline | networks | simulator | sanitizer | ranks | all) ;;
  *) sed -n '3,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac

build=${BUILD:-build/gpu_check${believe:+-make-believe}}
results=${RESULTS:-$([[ -n $believe ]] && echo "$build" || echo benchmarks/results)}
python=${PYTHON:-python3}
limit=${SECONDS_PER_PART:-540}
mkdir -p "$build" "$results"

# ---- where the libraries are: as said, the toolkit's folder, the system's, the folders of NVIDIA's Python wheels -----------------------

wheels=()
while IFS= read -r folder; do
  wheels+=("$folder")
done < <("$python" -c 'import glob, sys; print(*[g for p in sys.path if p for g in glob.glob(p + "/nvidia/*")], sep="\n")' 2>/dev/null || true)
roots=(${CUDNN_ROOT:+"$CUDNN_ROOT"} ${NCCL_ROOT:+"$NCCL_ROOT"} ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local /usr "${wheels[@]}")

includes=() linked=()
find_header() {
  local r
  for r in "${roots[@]}"; do
    for folder in "$r/include" "$r/targets/x86_64-linux/include" "$r/include/x86_64-linux-gnu"; do
      if [[ -f $folder/$1 ]]; then
        [[ $folder == /usr/include ]] || includes+=(-isystem "$folder") # the compiler has that one in its right place
        return
      fi
    done
  done
  printf 'run.sh: there is no %s; set CUDA_HOME, CUDNN_ROOT or NCCL_ROOT\n' "$1" >&2
  exit 1
}
find_library() {
  local r file
  for r in "${roots[@]}"; do
    for folder in "$r/lib64" "$r/lib" "$r/targets/x86_64-linux/lib" "$r/lib/x86_64-linux-gnu"; do
      for file in "$folder/lib$1.so" "$folder/lib$1.so".*; do
        [[ -e $file && $file != *.alt* ]] && { linked+=("$file" "-Wl,-rpath,$folder"); return; }
      done
    done
  done
  printf 'run.sh: there is no lib%s.so; set CUDA_HOME, CUDNN_ROOT or NCCL_ROOT\n' "$1" >&2
  exit 1
}
for header in cuda_runtime_api.h cublasLt.h nvrtc.h cudnn.h nccl.h; do find_header $header; done
for library in cudart cublasLt nvrtc cudnn nccl; do find_library $library; done

# make <program> [compiler]: only where a source is newer
make_program() {
  local program=$build/$1 flags=(-std=c++20 -O2 -Iinclude -Itests -I.)
  [[ -z $believe ]] || flags+=(-DTESSERA_MAKE_BELIEVE tests/support/cuda_kernels.cpp)
  if [[ -x $program && -z $(find include tests/support tests/op tests/op_test benchmarks examples \( -name '*.[hi]*' -o -name '*.cpp' \) -newer "$program" -print -quit) ]]; then
    return
  fi
  printf 'building %s\n' "$1"
  "${2:-${CXX:-g++}}" "${flags[@]}" "${includes[@]}" "benchmarks/gpu_check/$1.cpp" "${linked[@]}" -pthread -ldl -o "$program.new"
  mv "$program.new" "$program"
}

# ---- the parts -----------------------------------------------------------------------------------------------------------

common=(--limit "$limit")
[[ -n $believe ]] && common+=(--tiny --strategies 1) || common+=(--profile "$build/algorithms")

# run <name> <command>...: shows the output and keeps it; an exit code of its own does not end the others
failed=0
run() {
  local name=$1 code=0
  shift
  printf '== %s\n' "$name"
  { printf '# %s\n' "$*"; timeout -k 10 $((limit + 55)) "$@"; } 2>&1 | tee "$results/gpu-$name.txt" || code=${PIPESTATUS[0]}
  [[ $code == 0 ]] || { printf '%s ended with code %d\n' "$name" "$code" | tee -a "$results/gpu-$name.txt"; failed=1; }
}

fashion() {
  local folder=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist} file
  for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
    if [[ -f $folder/$file-ubyte ]]; then
      cp "$folder/$file-ubyte" "$build/"
    elif [[ -f $folder/$file-ubyte.gz ]]; then
      gzip -dc "$folder/$file-ubyte.gz" >"$build/$file-ubyte"
    else
      printf 'Fashion-MNIST is left out: there is no %s; set FASHION_MNIST\n' "$folder/$file-ubyte.gz" >&2
      return
    fi
  done
  printf '%s' "$build"
}

peer() {
  if "$python" -c 'import torch' 2>/dev/null; then
    printf '%s' benchmarks/gpu_check/peer.py
  else
    printf 'the peer is left out: %s has no PyTorch\n' "$python" >&2
  fi
}

run_part() {
  case $1 in
    build) make_program gpu_check; make_program gpu_operators ;;
    correctness)
      make_program gpu_check
      local data
      data=$(fashion)
      run correctness "$build/gpu_check" correctness "${common[@]}" ${data:+--data "$data"} "${@:2}"
      ;;
    operators) make_program gpu_operators; run operators "$build/gpu_operators" "${common[@]}" "${@:2}" ;;
    networks)
      make_program gpu_check
      local script
      script=$(peer)
      PYTHON=$python run networks "$build/gpu_check" networks "${common[@]}" ${script:+--peer "$script"} "${@:2}"
      ;;
    roofline | simulator) make_program gpu_check; run "$1" "$build/gpu_check" "$1" "${common[@]}" "${@:2}" ;;
    sanitizer)
      make_program gpu_check
      local tool
      tool=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null || true)
      if [[ -z $tool ]]; then
        printf 'the sanitizer is left out: there is no compute-sanitizer\n'
        return
      fi
      local check
      for check in memcheck racecheck initcheck; do
        run "sanitizer-$check" "$tool" --tool $check --error-exitcode 9 "$build/gpu_check" correctness --limit $((limit / 3)) \
          --tiny --strategies 1 "${@:2}"
      done
      ;;
    ranks)
      make_program gpu_ranks "${MPICXX:-mpicxx.mpich}"
      local ranks
      for ranks in 2 4; do
        run "ranks-$ranks" "${MPIRUN:-mpirun.mpich}" -n "$ranks" "$build/gpu_ranks" --limit "$((limit / 3))" "${@:2}"
      done
      ;;
    all) for one in correctness operators roofline networks simulator sanitizer; do run_part "$one" "${@:2}"; done ;;
  esac
}
run_part "$part" "$@"
exit $failed
