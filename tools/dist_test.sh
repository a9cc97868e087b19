#!/usr/bin/env bash
# Usage: tools/dist_test.sh CONFIG CHECKPOINT GPUS [options of test.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -euo pipefail
CONFIG=${1:?usage: $0 CONFIG CHECKPOINT GPUS [options]}
CHECKPOINT=${2:?usage: $0 CONFIG CHECKPOINT GPUS [options]}
GPUS=${3:?usage: $0 CONFIG CHECKPOINT GPUS [options]}
ARGS=("$CONFIG" "$CHECKPOINT" "${@:4}")

"${PYTHON:-python}" -m torch.distributed.run \
    --nnodes="${NNODES:-1}" \
    --node_rank="${NODE_RANK:-0}" \
    --master_addr="${MASTER_ADDR:-127.0.0.1}" \
    --master_port="${PORT:-29500}" \
    --nproc_per_node="$GPUS" \
    "$(dirname "$0")/test.py" "${ARGS[@]}" --launcher pytorch
