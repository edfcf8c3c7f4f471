#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The simulator against reality: for each network eight times a short process that makes a profile, then one that predicts from it and measures, so that both see the
# machine's speed drift alike (by a tenth and more within minutes); the table is of the lower quartiles of the eight.
#   reality.sh PROGRAM FOLDER [NETWORK...]     default: six networks; the folder takes raw lines and the plot
set -euo pipefail
program=$1 folder=$2
shift 2
networks=("$@")
((${#networks[@]})) || networks=(small lenet5 alexnet mlp residual transformer)
mkdir -p "$folder"
for network in "${networks[@]}"; do
  for pass in 1 2 3 4 5 6 7 8; do
    raw=$folder/$network.$pass
    rm -f "$raw.profile" "$raw.csv"
    "$program" profile "$network" "$raw.profile"
    "$program" run "$network" "$raw.profile" "$raw.csv" 0 100 0.35
  done
done
"$program" table "$folder/reality.svg" "$folder"/*.csv
