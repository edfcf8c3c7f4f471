#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The papers' tables as Markdown on standard output: run.sh FOLDER-OF-THE-PROGRAMS [MILLION-ACTIVITIES-OF-A-CHAIN]
set -euo pipefail
programs=${1:?the folder with optcnn_tables and flexflow_tables, e.g. build/release/benchmarks/papers}
work=${2:-5}
echo "# OptCNN's and FlexFlow's tables, simulated"
echo
echo "\`benchmarks/papers/run.sh $programs $work\`. Everything here is simulated on rooflines (\`cost::roofline_efficiency\`), not measured."
echo "Figures of the papers marked recalled are from memory of the papers and unproven."
echo
"$programs/optcnn_tables"
echo
"$programs/flexflow_tables" "$work"
