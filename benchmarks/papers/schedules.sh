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

## What differs, and why

- Everywhere: rooflines instead of measured kernels; no stragglers, no input pipeline, no jitter, no congestion beyond the links of the machine's graph. Batch norm:
  these systems normalize every replica's own samples, Tessera's data parallelism all samples together (and exchanges statistics in every layer). Their
  rows are therefore built as replicas that share what they train (`papers::replicas_of`), which computes what those systems compute.
- GPipe: recomputation begins before the next stage's gradient arrives, as the paper says, because a device's list goes on. With 4 micro-batches the
  paper's AmoebaNet gains far less than any model says, its Transformer more (the paper adapts batch sizes to the memory; whether that is why is not said). On torchgpipe's own
  batches, chunks and cuts the simulator is nearer. Table 1: parameters agree; activations with re-materialization are within 15 % of the paper's for the two
  AmoebaNets; without it the planner needs 37 GB for 128 images in f32 where the paper has 6.26; why is not known here.
- HyPar-Flow: partitions do not beat data parallelism as such in the simulator: stages wait for each other, and data parallelism in processes as small as HyPar-Flow's is
  faster than any hybrid, with and without the fit (second table). The gain of 1.6 comes from Horovod's larger processes that use their cores badly, which is the fitted
  constant and an assumption. It then predicts 2.7 for ResNet-110 over one process (paper: 3.1). Weak scaling is ideal in the simulator: all-reduces are hidden; 86 and 94 % were
  measured.
- GEMS: closed forms hold exactly on the schedule, and within some per cent on plans with real layers, whose backward pass takes other than twice as long. The 2.7 %
  that are lost on 1,024 GPUs are not gradients in the simulator if these overlap; with sums that block, the last column.
- P3: with the one published rate of a server nothing is fitted. Where the link is the bottleneck P3 takes it whole: ResNet-50 gains 29 % at 4 Gb/s (paper: 26).
  VGG-19 gains nearly what the paper says, but at 10 Gb/s instead of 15: with four machines a gain cannot be more than servers' step over that without communication (the two
  columns of the table), which at 15 Gb/s is 44 % and at 30 Gb/s 3 %, where the paper still has slices alone at +49 %. With
  servers of half the published rate, fitted on VGG-19 at 15 Gb/s (last table), ResNet-50's +26 % is predicted as the paper has it, and slices alone at 30 Gb/s gain 15 %
  of its 49: what else held up MXNet's servers there (one thread of ps-lite that copies messages, copies between GPU and host) is not modelled. Sockeye gains
  two thirds of what the paper says: gradients of its unrolled cells are complete only when backward has gone through all steps. Earlier results had links
  idle up to half of the time, as a receiver that was busy with others kept its senders waiting; now the two halves of a message's way are taken one by one, and
  the plan's fixed order follows simulated times.
- Horovod: Inception-v3 and ResNet-101 hide their gradients in the simulator and lose nothing; what cost 10 % in fact is not modelled (input, stragglers and negotiation
  are candidates). VGG-16 comes out within 6 points without a fit. At 512 GPUs congestion between switches is missing: the fabric is one switch. Two servers
  that stand for all are exact where the best collective is of their kind, and within 3 points else (last table).
- Beyond: every system is the seed's own rule on the simulator, not its code. Searching is short (MCMC for the seconds given); combinations are a list, not an
  exhaustive search. Where the last column is 1.00, the best single system takes what the same strategy would take with free links, within 0.1 % (ResNet-50: 4 %): no
  synchronization has anything left to give there, and no split or pipeline that was tried computes less. It is more where splits and priorities add up (AlexNet, RNNLM,
  NMT) and where the plain systems do not fit. FlexFlow's (!): its chain starts from data parallelism, which does not fit, and looks for less memory first.
  OptCNN for AmoebaNet and recurrent networks: one choice for all steps of a layer, as the exact search takes too long.
TEXT
