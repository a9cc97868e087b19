#!/usr/bin/env bash
# Usage: tools/dist_train.sh CONFIG GPUS [options of train.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -eu
USAGE="usage: $0 CONFIG GPUS [options]"
exec "$(dirname "$0")/dist.sh" train.py "${2:?$USAGE}" "${1:?$USAGE}" "${@:3}"
