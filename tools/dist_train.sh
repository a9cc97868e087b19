#!/usr/bin/env bash
# Usage: tools/dist_train.sh CONFIG GPUS [options of train.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -euo pipefail
CONFIG=${1:?usage: $0 CONFIG GPUS [options]}
GPUS=${2:?usage: $0 CONFIG GPUS [options]}
ARGS=("$CONFIG" "${@:3}")

"${PYTHON:-python}" -m torch.distributed.run \
    --nnodes="${NNODES:-1}" \
    --node_rank="${NODE_RANK:-0}" \
    --master_addr="${MASTER_ADDR:-127.0.0.1}" \
    --master_port="${PORT:-29500}" \
    --nproc_per_node="$GPUS" \
    "$(dirname "$0")/train.py" "${ARGS[@]}" --launcher pytorch
