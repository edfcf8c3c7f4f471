#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The simulator against reality: for each network a process that makes a profile, then one that predicts from it and measures; the table of all.
#   reality.sh PROGRAM FOLDER [NETWORK...]     default: six networks; the folder takes raw lines and the plot
set -euo pipefail
program=$1 folder=$2
shift 2
networks=("$@")
((${#networks[@]})) || networks=(small lenet5 alexnet mlp residual transformer)
mkdir -p "$folder"
for network in "${networks[@]}"; do
  rm -f "$folder/$network.profile" "$folder/$network.csv"
  "$program" profile "$network" "$folder/$network.profile"
  "$program" run "$network" "$folder/$network.profile" "$folder/$network.csv" 0 100 1
done
"$program" table "$folder/reality.svg" "$folder"/*.csv
