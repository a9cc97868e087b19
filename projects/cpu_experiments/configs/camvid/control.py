# Ground-truth control: G on the true probabilities of the flips.
_base_ = './faithful.py'
model = dict(
    decode_head=dict(
        black_box=None,
        calibration=dict(_delete_=True, type='KnownDistribution'),
    )
)
