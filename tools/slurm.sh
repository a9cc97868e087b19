#!/usr/bin/env bash
# Usage: [GPUS=8] tools/slurm.sh PARTITION JOB_NAME TOOL CONFIG [arguments and options of the tool]
# TOOL is train.py or test.py. GPUS in all, GPUS_PER_NODE, CPUS_PER_TASK and SRUN_ARGS come from outside.
set -euo pipefail
USAGE="usage: $0 PARTITION JOB_NAME TOOL CONFIG [options]"
PARTITION=${1:?$USAGE}
JOB_NAME=${2:?$USAGE}
TOOL=${3:?$USAGE}
: "${4:?$USAGE}"
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# SRUN_ARGS is split into words on purpose.
# shellcheck disable=SC2086
srun --partition="$PARTITION" \
    --job-name="$JOB_NAME" \
    --gres="gpu:$GPUS_PER_NODE" \
    --ntasks="${GPUS:-4}" \
    --ntasks-per-node="$GPUS_PER_NODE" \
    --cpus-per-task="${CPUS_PER_TASK:-5}" \
    --kill-on-bad-exit=1 \
    ${SRUN_ARGS:-} \
    "${PYTHON:-python}" -u "$(dirname "$0")/$TOOL" "${@:4}" --launcher slurm
