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
cat <<'TEXT'

## What differs, and why

- With collectives that overlap the backward pass, data parallelism on these clusters hides nearly all of its traffic in the simulator, and there
  is little left to gain: the best all-reduce crosses each node's link once. The papers' runtimes sent every GPU's gradients to servers and
  parameters back (OptCNN, section 4; the details are recalled). With servers the gains over data parallelism are of the papers' kind: 1.01 to 1.07
  for ResNet-101 and Inception-v3, 1.2 to 8.0 for the others on 16 and 64 GPUs (RNNTC's 8.0: its experts alone reach 3.3).
- Bytes of data parallelism follow from the parameters: NMT's 133 M at 64 GPUs, there and back, are 67 GB (paper: 65.8). Steps of nearly the
  same time move very different bytes, and a search that minds time alone takes any of them; with a price of bytes (the last table) what is
  found for NMT with servers moves less than the expert, as in the paper, and still takes about half of the expert's time.
- Compute is a roofline at assumed efficiencies; the papers measured cuDNN kernels. All devices of a step together compute within about a third
  of the papers' seconds for NMT.
- The model parallel baseline splits every operator by channels over all GPUs, pools and activations too, and gathers whatever a convolution reads;
  over several nodes that is far slower than any other strategy.
- K, the nodes left by OptCNN's two eliminations, is the paper's 2 everywhere; search times are of another decade's processor.
TEXT
