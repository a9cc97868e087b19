# LIDC, a U-Net and a schedule: what every peer of configs/peers builds on.
_base_ = [
    './models/peers.py',
    './datasets/lidc.py',
    './schedules/peer.py',
    './default_runtime.py',
]
