#!/usr/bin/env bash
# Usage: tools/dist.sh TOOL GPUS CONFIG [arguments and options of the tool]
# TOOL is train.py or test.py. Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -euo pipefail
USAGE="usage: $0 TOOL GPUS CONFIG [options]"
TOOL=${1:?$USAGE}
GPUS=${2:?$USAGE}
: "${3:?$USAGE}"

"${PYTHON:-python}" -m torch.distributed.run \
    --nnodes="${NNODES:-1}" \
    --node_rank="${NODE_RANK:-0}" \
    --master_addr="${MASTER_ADDR:-127.0.0.1}" \
    --master_port="${PORT:-29500}" \
    --nproc_per_node="$GPUS" \
    "$(dirname "$0")/$TOOL" "${@:3}" --launcher pytorch
