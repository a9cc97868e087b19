#!/usr/bin/env bash
# Usage: [GPUS=8] tools/slurm_train.sh PARTITION JOB_NAME CONFIG [options of train.py]
exec "$(dirname "$0")/slurm.sh" "${1:-}" "${2:-}" train.py "${@:3}"
