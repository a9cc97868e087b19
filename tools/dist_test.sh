#!/usr/bin/env bash
# Usage: tools/dist_test.sh CONFIG CHECKPOINT GPUS [options of test.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -eu
USAGE="usage: $0 CONFIG CHECKPOINT GPUS [options]"
exec "$(dirname "$0")/dist.sh" test.py "${3:?$USAGE}" "${1:?$USAGE}" "${2:?$USAGE}" "${@:4}"
