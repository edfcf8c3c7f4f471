#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the examples say to bad input: bad_input.sh <folder of the programs> <folder to work in>
# Each case must end with the code that is given, and with one line on stderr that has the words that are given. No file may be left.
set -u
programs=$1
work=$2
rm -rf "$work"
mkdir -p "$work/data" "$work/damaged" "$work/out"
failures=0

# data <folder> <part> <samples>: images of zeros and labels of zeros, in the format of Fashion-MNIST (at most 255 samples)
data() {
  samples=$(printf '\\%03o' "$3")
  { printf "\\000\\000\\010\\003\\000\\000\\000$samples\\000\\000\\000\\034\\000\\000\\000\\034"; head -c $(($3 * 784)) /dev/zero; } >"$1/$2-images-idx3-ubyte"
  { printf "\\000\\000\\010\\001\\000\\000\\000$samples"; head -c "$3" /dev/zero; } >"$1/$2-labels-idx1-ubyte"
}
data "$work/data" train 192
data "$work/data" t10k 64
data "$work/damaged" train 192
printf 'not a data set' >"$work/damaged/train-images-idx3-ubyte"

# refused <code> <words> <program> [argument]...
refused() {
  code=$1
  words=$2
  program=$3
  shift 3
  (cd "$work/out" && "$programs/$program" "$@") >"$work/stdout" 2>"$work/stderr"
  got=$?
  lines=$(wc -l <"$work/stderr")
  if [ "$got" -ne "$code" ] || [ "$lines" -ne 1 ] || ! grep -qF -- "$words" "$work/stderr" ||
    [ -n "$(ls -A "$work/out")" ]; then
    printf '%s %s\n  ended with %s (wanted %s), %s lines on stderr (wanted 1 with: %s), files left: %s\n' \
      "$program" "$*" "$got" "$code" "$lines" "$words" "$(ls -A "$work/out")"
    cat "$work/stderr"
    failures=$((failures + 1))
  fi
}

# The data are good: what follows is refused for its own reason.
"$programs/fashion_mnist" 1 --data "$work/data" >"$work/stdout" 2>"$work/stderr" || {
  cat "$work/stderr"
  failures=$((failures + 1))
}

refused 2 "there is no option --epoch" fashion_mnist --epoch 3
refused 2 "--devices takes a value" fashion_mnist --devices
refused 2 "--devices takes a number, not 'two'" fashion_mnist --devices two
refused 2 "--devices takes a whole number, not '1.5'" fashion_mnist --devices 1.5
refused 2 "the number of epochs must be at least 1" fashion_mnist 0
refused 2 "the number of epochs takes a number, not '3x'" fashion_mnist 3x
refused 1 "there must be at least one device" fashion_mnist --devices 0
refused 1 "made for 2 devices and there are 3" fashion_mnist --devices 3
refused 1 "at most 256" fashion_mnist --devices 100000
refused 1 "and has 1000; split more, or use smaller batches" fashion_mnist --device-memory 1000
refused 1 "a learning rate of -1" fashion_mnist 1 --learning-rate -1 --data "$work/data"
refused 1 "is not a finite number" fashion_mnist 3 --learning-rate 1e30 --data "$work/data"
refused 1 "$work/nowhere" fashion_mnist --data "$work/nowhere"
refused 1 "$work/damaged" fashion_mnist --data "$work/damaged"
refused 1 "cannot make the folder 'no/such' for a log of metrics" fashion_mnist 1 --data "$work/data" --metrics no/such
TESSERA_DATA=$work/data
export TESSERA_DATA
refused 2 "the number of epochs must be at least 1" two_device_placement 0 chart.svg
refused 1 "$work/nowhere/chart.svg" two_device_placement 1 "$work/nowhere/chart.svg"
TESSERA_DATA=$work/nowhere
refused 1 "$work/nowhere" two_device_placement 1 chart.svg

# The planner, where it has been built. Its good files come first; then each is refused for its own reason.
if [ -x "$programs/plan" ]; then
  "$programs/plan" --network lenet5 --machine host --nodes 2 --search data --strategy "$work/lenet.json" --write-machine "$work/host.json" \
    --report "$work/lenet.html" --trace "$work/lenet.trace" >"$work/stdout" 2>"$work/stderr" &&
    "$programs/plan" --network lenet5 --machine "$work/host.json" --from "$work/lenet.json" --explain conv1 --compare model >>"$work/stdout" 2>>"$work/stderr" || {
    cat "$work/stderr"
    failures=$((failures + 1))
  }
  if [ -s "$work/stderr" ]; then # no progress in a pipe
    cat "$work/stderr"
    failures=$((failures + 1))
  fi
  # Where no search is named, blocks on more than 8 devices get the joint one.
  "$programs/plan" --network gpt --layers 5 --width 64 --heads 4 --vocabulary 64 --sequence 32 --machine p100 --nodes 3 --batch 12 2>"$work/stderr" >"$work/stdout"
  if ! grep -q "were estimated; none is faster than" "$work/stdout"; then
    echo "12 devices were not searched jointly"
    cat "$work/stdout" "$work/stderr"
    failures=$((failures + 1))
  fi
  # Ctrl-C ends a search with the best so far, which can be gone on with; what is found then is what would have been found without.
  long="--network inception_v3 --machine p100 --nodes 1 --proposals 1000000"
  (cd "$work" && exec "$programs/plan" $long --resume state --strategy early.json) >"$work/stdout" 2>"$work/stderr" &
  search=$!
  tries=0
  while [ ! -s "$work/state" ] && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  kill -INT $search
  wait $search
  ended=$?
  if [ $ended -ne 130 ] || ! grep -q "what follows is the best so far; the same command goes on from 'state'" "$work/stderr" ||
    ! grep -q "mcmc .* ms a step" "$work/stdout" || [ ! -s "$work/early.json" ]; then
    echo "an interrupted search ended with $ended (wanted 130)"
    cat "$work/stdout" "$work/stderr"
    failures=$((failures + 1))
  fi
  # changed <file> <new file> <sed command>
  changed() { sed "$3" "$work/$1" >"$work/$2"; }
  changed host.json slow.json 's/"megabytes_per_second": 21000/"megabytes_per_second": 0/'
  changed host.json apart.json 's/"from": 2, "to": 0/"from": 1, "to": 0/'
  changed host.json round.json 's/"inside": -1}/"inside": 0}/'
  changed host.json short.json '$d'
  changed host.json twice.json 's/"cables": 1/"cables": 1, "cables": 2/'
  changed lenet.json devices.json 's/"sample": 2/"sample": 4/'
  changed lenet.json splits.json 's/"sample": 2/"colour": 2/'
  head -c 100 /dev/zero >"$work/zeros.json"
  lenet="plan --network lenet5 --machine host --nodes 2"
  refused 2 "--netwrok" plan --netwrok vgg16
  refused 2 "--nodes" plan --nodes two
  refused 2 "--nodes" plan --nodes 0
  refused 2 "--optimizer" plan --optimizer best
  refused 2 "did you mean --network?" plan --netwrok vgg16
  refused 2 "--layers" plan --network gpt --layers 0
  refused 1 "there is no precision 'bf61'; did you mean bf16?" plan --network lenet5 --precision bf61
  refused 1 "has no rate for products in bf16; it has one in fp32" plan --network lenet5 --machine p100 --precision bf16
  refused 1 "has no rate for products in fp8; it has one in fp32, tf32, bf16, fp16" plan --network lenet5 --machine a100 --precision fp8
  refused 1 "'vgg16' has the sizes that it has" plan --network vgg16 --layers 3
  refused 1 "--key-heads is an option of llama and moe" plan --network gpt --key-heads 3
  refused 1 "--experts is an option of moe" plan --network llama --experts 3
  refused 1 "the width 100 is no multiple of 12 heads" plan --network gpt --width 100
  refused 1 "there is no network 'lama'; did you mean llama?" plan --network lama
  refused 1 "with --memory " plan --network lenet5 --memory 1MB --search data
  # The least that it names is enough, and a byte less is not.
  least=$("$programs/plan" --network lenet5 --memory 1MB --search data 2>&1 >/dev/null | sed -n 's/.*with --memory \([0-9]*\) it fits.*/\1/p')
  "$programs/plan" --network lenet5 --memory "$least" --search data >"$work/stdout" 2>"$work/stderr" || {
    cat "$work/stderr"
    failures=$((failures + 1))
  }
  refused 1 "it fits" plan --network lenet5 --memory "$((least - 1))" --search data
  refused 2 "--search" plan --search data --from "$work/lenet.json"
  refused 1 "there is no network 'vgg17'; did you mean vgg16 or vgg19?; --list names them" plan --network vgg17
  refused 1 "there is no machine 'p101'; did you mean p100?" plan --machine p101
  refused 1 "there is no search 'best'; --list names them" $lenet --search best
  refused 1 "there is no search 'megatorn'; did you mean megatron?" $lenet --search data --compare megatorn
  refused 1 "there is no schedule 'gpip'; did you mean gpipe?; --list names them" $lenet --search pipeline --schedule gpip
  refused 1 "there is no synchronization policy 'zero-4'; did you mean zero-1, zero-2 or zero-3?; --list names them" $lenet --search data --sync zero-4
  refused 1 "makes a pipeline that could follow the schedule 'gpipe'; give --search pipeline or fit" $lenet --search data --schedule gpipe
  refused 1 "no search is asked for whose strategy could follow the policy 'p3'" $lenet --from "$work/lenet.json" --sync p3
  refused 2 "--proposals: it is an option of the search mcmc; leave --proposals out" $lenet --search data --proposals 5
  refused 2 "--slice: it is an option of the policy p3; leave --slice out" $lenet --search data --sync buckets --slice 5
  refused 2 "proposals is 0; give a whole number from 1 to 100000000" $lenet --proposals 0
  refused 2 "proposals is 2.5; give a whole number" $lenet --proposals 2.5
  refused 2 "'many' is no number" $lenet --proposals many
  refused 1 "interleaved 1F1B takes micro-batches in groups" $lenet --search pipeline --schedule interleaved --micro-batches 3
  refused 1 "has 8 devices, not 9" plan --nodes 2 --devices 9
  refused 1 "the network has no layer 'conv9'; did you mean conv1 or conv2?" $lenet --explain conv9
  refused 2 "says how many nodes it has; leave --nodes out" plan --network lenet5 --machine "$work/host.json" --nodes 2
  refused 2 "only --search mcmc can go on from a file" $lenet --search data --resume "$work/state"
  refused 1 "cannot write '$work/nowhere/x.json'" $lenet --proposals 100000000 --strategy "$work/nowhere/x.json"
  refused 1 "cannot write '/dev/null'" $lenet --proposals 100000000 --report /dev/null
  refused 1 "is too large to be simulated as a whole" plan --network lenet5 --nodes 2048 --devices 8192 --search data --sync p3
  refused 1 "the strategy does not fit: device 0 needs" $lenet --search data --memory 1000
  refused 1 "3 stages do not divide 2 devices" $lenet --search pipeline --schedule gpipe --stages 3
  refused 1 "cannot read '$work/nowhere.json'" $lenet --from "$work/nowhere.json"
  refused 1 "is for 2 devices and the machine has 1" plan --network lenet5 --machine host --nodes 1 --from "$work/lenet.json"
  refused 1 "the strategy is for another network" plan --network vgg16 --machine host --nodes 2 --from "$work/lenet.json"
  refused 1 "more shards than devices" $lenet --from "$work/devices.json"
  refused 1 "splits the layer 'conv1' along a dimension that it does not have" $lenet --from "$work/splits.json"
  refused 1 "line 1, column 1: syntax error" $lenet --from "$work/zeros.json"
  refused 1 "cannot read '$work'" $lenet --from "$work"
  refused 1 "cannot write '$work/nowhere/x.html'" $lenet --search data --report "$work/nowhere/x.html"
  refused 1 "/links/0/megabytes_per_second is 0" plan --network lenet5 --machine "$work/slow.json"
  refused 1 "no way leads from device 0 'core 0' to device 1 'core 1'" plan --network lenet5 --machine "$work/apart.json"
  refused 1 "lies inside itself" plan --network lenet5 --machine "$work/round.json"
  refused 1 "syntax error" plan --network lenet5 --machine "$work/short.json"
  refused 1 "the name \"cables\" comes twice" plan --network lenet5 --machine "$work/twice.json"
  refused 1 "has no \"tessera_machine\"" plan --network lenet5 --machine "$work/lenet.json"
fi

[ "$failures" -eq 0 ] && echo "everything was refused as it should"
exit "$failures"
