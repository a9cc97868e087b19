#!/usr/bin/env bash
# Usage: [GPUS=8] tools/slurm_test.sh PARTITION JOB_NAME CONFIG CHECKPOINT [options of test.py]
exec "$(dirname "$0")/slurm.sh" "${1:-}" "${2:-}" test.py "${@:3}"
