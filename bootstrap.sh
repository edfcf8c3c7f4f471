#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 to a result: installs what is missing, configures, builds, runs.
#
#   ./bootstrap.sh demo    train a network on Fashion-MNIST over two host devices
#   ./bootstrap.sh test    build and run the tests
#   ./bootstrap.sh bench   build the benchmarks and print every figure
#
# PRESET names the CMake preset of the tests (ci, what .ci/run takes); JOBS the number of compilers at a time (the number of cores).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

base_packages=(g++ cmake ninja-build libdnnl-dev ocl-icd-opencl-dev doctest-dev librange-v3-dev
               dataset-fashion-mnist zlib1g-dev nlohmann-json3-dev libcli11-dev)
test_packages=(python3 python3-dev pybind11-dev pkg-config libopenmpi-dev openmpi-bin libmpich-dev mpich)
bench_packages=(python3 python3-torch libopenblas0-openmp openmpi-bin libopenmpi-dev)

# What `bench` runs: a title and a command, in which $build is the build folder. The first words say what is measured.
benchmarks=(
  "compile time and memory|python3 benchmarks/compile_time/measure.py"
  "template instantiations|python3 benchmarks/compile_time/instantiations.py"
  "kernels: our own against oneDNN|OMP_NUM_THREADS=1 \$build/benchmarks/kernels/conv_n16"
  "every synchronization policy with random splits and schedules against one device in double|\$build/benchmarks/same_numbers/policies"
  "300 random strategies and 100 pipelines a network against one device in double|\$build/benchmarks/same_numbers/random_strategies"
  "every schedule against one device in double|\$build/benchmarks/same_numbers/schedules"
  "2,000 random networks, each under a random strategy, schedule and policy, against one device in double|\$build/benchmarks/same_numbers/random_networks"
  "10,000 random schedules, verified or refused, and their plans damaged|\$build/benchmarks/schedules/random_schedules"
  "120,000 times one wrong number, entry or task in plans of 1,000 random networks: refused, or right all the same|\$build/benchmarks/schedules/random_damage"
  "10,000 random proposals: delta simulation against full simulation, bit for bit|\$build/benchmarks/simulate/delta_full"
  "workspaces: the cost model's in predicted memory, and the host's|\$build/benchmarks/simulate/workspaces"
  "sharded operators|\$build/benchmarks/ops/sharded"
  "search: OptCNN against the obvious strategies|\$build/benchmarks/search/optcnn"
  "search: MCMC beside experts and OptCNN|\$build/benchmarks/search/mcmc"
  "search: FlexFlow's six benchmarks|\$build/benchmarks/search/flexflow quick"
  "dispatch: an empty task|\$build/benchmarks/dispatch/empty_task"
  "dispatch: a step against a bare loop, and its heap allocations|\$build/benchmarks/dispatch/step"
  "communication beside computation|\$build/benchmarks/dispatch/overlap"
  "pipelines: arenas predicted and written|\$build/benchmarks/schedules/memory"
  "pipelines: steps predicted and measured|\$build/benchmarks/schedules/step_times"
  "recomputation: steps and arenas predicted and measured|OMP_NUM_THREADS=1 \$build/benchmarks/schedules/recompute"
  "P3 and other policies over slow links|\$build/benchmarks/schedules/slow_links 2 3 4"
  "U-Net under every schedule|\$build/benchmarks/schedules/unet measured 128"
  "all-reduce against MPI|OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpiexec -n 2 --oversubscribe --bind-to none \$build/benchmarks/collective/allreduce"
  "training step against PyTorch|python3 benchmarks/peers/run.py --tessera \$build/benchmarks/peers/peer_tessera"
)

jobs=${JOBS:-$(nproc)}

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'bootstrap.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '5,10s/^# \{0,1\}//p' "$0"; }

# install <package>...: what of it is not installed yet
install() {
  local package missing=() sudo=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    printf 'bootstrap.sh: no apt here, so nothing is installed; the build needs what Debian 12 calls\n  %s\n' "$*" >&2
    return
  fi
  for package; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "run as root, or install by hand: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq || fail "apt-get update failed; install by hand: ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    || fail "apt-get could not install: ${missing[*]}"
}

# build <preset> [cmake --build arguments...]: leaves the build folder in $build
build() {
  local preset=$1
  shift
  build=build/$preset
  say "configuring ($preset)"
  cmake --preset "$preset" || fail "configuring failed"
  say "building ($preset)"
  cmake --build "$build" -j "$jobs" "$@" || fail "the build failed"
}

demo() {
  install "${base_packages[@]}"
  build demo --target fashion_mnist
  say "training on Fashion-MNIST"
  exec "$build/examples/fashion_mnist" "$@"
}

run_tests() {
  install "${base_packages[@]}" "${test_packages[@]}"
  build "${PRESET:-ci}"
  say "testing"
  ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error
}

bench() {
  install "${base_packages[@]}" "${bench_packages[@]}"
  build release --target benchmarks
  local entry title command failed=()
  for entry in "${benchmarks[@]}"; do
    title=${entry%%|*}
    command=${entry#*|}
    say "$title"
    build=$build bash -c "$command" || failed+=("$title")
  done
  ((${#failed[@]} == 0)) || fail "$(printf 'failed: %s; ' "${failed[@]}")"
}

verb=${1:-}
(($#)) && shift
case $verb in
  demo) demo "$@" ;;
  test) run_tests ;;
  bench) bench ;;
  help | -h | --help) usage ;;
  *)
    [[ -z $verb ]] || printf "bootstrap.sh: unknown verb '%s'\n" "$verb" >&2
    usage >&2
    exit 2
    ;;
esac
