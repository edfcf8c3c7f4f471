#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# full_output.sh PROGRAM [ARGUMENT...]: a program whose standard output is a full disk ends with exit code 1 and says why.
set -u
[ -w /dev/full ] || { echo "skipped: there is no /dev/full"; exit 0; }
message=$("$@" 2>&1 >/dev/full)
code=$?
[ "$code" -eq 1 ] || { echo "exit code $code where 1 was expected: $*"; exit 1; }
case $message in
  *"standard output did not take everything"*) ;;
  *) echo "no word of it on standard error: $message"; exit 1 ;;
esac
# Into a pipe that takes everything it ends well.
"$@" >/dev/null || { echo "fails without need: $*"; exit 1; }
