#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts a training again until it ends well: until_done.sh TIMES COMMAND [ARGUMENT]...
# The command goes on by itself from its newest checkpoint (ts::io::resume_newest). The exit code is that of its last run.
#
#   examples/until_done.sh 20 mpirun -n 4 ./train --checkpoints run
if [ $# -lt 2 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
  echo "usage: until_done.sh TIMES COMMAND [ARGUMENT]..." >&2
  exit 2
fi
times=$1
shift
run=1
while :; do
  "$@"
  code=$?
  if [ "$code" -eq 0 ] || [ "$run" -ge "$times" ]; then
    exit "$code"
  fi
  echo "until_done.sh: run $run of at most $times has ended with exit code $code; starting again" >&2
  run=$((run + 1))
  sleep 1
done
