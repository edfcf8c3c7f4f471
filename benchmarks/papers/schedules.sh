#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tables on schedules and synchronization as Markdown on standard output: schedules.sh FOLDER-OF-THE-PROGRAMS [SECONDS-OF-MCMC-PER-NETWORK] [SVG] [--all]
# --all: GPipe's largest models too.
set -euo pipefail
programs=${1:?the folder with gpipe_tables and the others, e.g. build/release/benchmarks/papers}
seconds=${2:-5}
picture=${3:-link-utilization.svg}
all=${4:-}
echo "# Schedules and synchronization: the papers' figures, simulated"
echo
echo "\`benchmarks/papers/schedules.sh $programs $seconds\`. Everything here is simulated on rooflines (\`cost::roofline_efficiency\`), not measured: plans as an"
echo "executor would run them, walked by \`simulate(plan)\`. Where a constant is fitted, it is fitted on one row, which is named, and predicts the others."
for table in "gpipe_tables $all" hyparflow_tables gems_tables p3_tables horovod_tables "beyond $seconds"; do
  echo
  # shellcheck disable=SC2086
  "$programs"/$table 2>/dev/null
done
"$programs/link_utilization" >"$picture"
cat <<'TEXT'

## Everywhere

Rooflines instead of measured kernels; no stragglers, no input pipeline, no jitter, no congestion beyond the links of the machine's graph. Batch norm:
these systems normalize every replica's own samples, Tessera's data parallelism by default all samples together (and exchanges statistics in every layer).
Their rows are therefore built as replicas that share what they train (`papers::replicas_of`), which computes what those systems compute. What else
differs, and why, stands below each table, printed by its program.
TEXT
