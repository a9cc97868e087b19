# LIDC, a U-Net and a schedule: what every method of configs/methods builds on.
_base_ = [
    './models/methods.py',
    './datasets/lidc.py',
    './schedules/method.py',
    './default_runtime.py',
]
