# Ground-truth control: G on the true probabilities of the flips.
_base_ = './recipe.py'
model = dict(
    test_cfg=dict(max_class_area=None),
    decode_head=dict(
        black_box=None,
        calibration=dict(_delete_=True, type='KnownDistribution'),
        # No flip is rare: nothing for a floor to leave out.
        generator=dict(gumbel=dict(_delete_=True, correlation_length=None)),
    ),
)
