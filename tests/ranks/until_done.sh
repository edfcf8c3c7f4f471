#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples/until_done.sh starts again what fails, as often as it may: until_done.sh SCRIPT FOLDER
set -eu
mkdir -p "$2"
runs=$2/runs
rm -f "$runs"
"$1" 3 sh -c "echo x >> '$runs'; test \$(wc -l < '$runs') -eq 3"
test "$(wc -l < "$runs")" -eq 3
! "$1" 2 sh -c "echo x >> '$runs'; exit 7" || exit 1
test "$(wc -l < "$runs")" -eq 5
code=0
"$1" none true || code=$?
test "$code" -eq 2
