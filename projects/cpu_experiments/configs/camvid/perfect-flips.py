# Bound: perfect flips of the black box's own decision.
_base_ = './gumbel.py'
model = dict(
    test_cfg=dict(max_class_area=None),
    decode_head=dict(
        calibration=dict(_delete_=True, type='FlippedDecision'),
        # No flip is rare: nothing for a floor to leave out.
        generator=dict(_delete_=True, type='GumbelSampler'),
    ),
)
