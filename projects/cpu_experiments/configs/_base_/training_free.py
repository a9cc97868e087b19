# Samples of an F without any training of G.
_base_ = [
    '../../../../configs/_base_/models/gumbel_small.py',
    '../../../../configs/_base_/schedules/no_training.py',
    '../../../../configs/_base_/default_runtime.py',
]
