#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training under Slurm that is started again until it ends well, from its newest checkpoint (ts::io::resume_newest):
#
#   sbatch --ntasks=4 examples/slurm.sh ./train --checkpoints run
#
# from the folder above examples/ (or with TESSERA_EXAMPLES). A rank is a task. SLURM_MPI_TYPE is pmix, as Open MPI wants
# it, unless it is set: pmi2 for MPICH. When a node has failed, Slurm puts the job into its queue again.
#SBATCH --job-name=training
#SBATCH --output=%x-%j.txt
#SBATCH --open-mode=append
#SBATCH --requeue
if [ $# -lt 1 ]; then
  echo "usage: sbatch --ntasks=RANKS slurm.sh PROGRAM [ARGUMENT]..." >&2
  exit 2
fi
export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmix}"
exec "${TESSERA_EXAMPLES:-${SLURM_SUBMIT_DIR:-.}/examples}/until_done.sh" 20 srun --kill-on-bad-exit=1 "$@"
