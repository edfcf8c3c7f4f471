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
TESSERA_DATA=$work/data
export TESSERA_DATA
refused 2 "the number of epochs must be at least 1" two_device_placement 0 chart.svg
refused 1 "$work/nowhere/chart.svg" two_device_placement 1 "$work/nowhere/chart.svg"
TESSERA_DATA=$work/nowhere
refused 1 "$work/nowhere" two_device_placement 1 chart.svg

[ "$failures" -eq 0 ] && echo "everything was refused as it should"
exit "$failures"
