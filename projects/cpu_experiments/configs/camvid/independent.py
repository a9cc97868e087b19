# IndependentPixelSampler on the F that calibration.py trained.
_base_ = './gumbel.py'
model = dict(
    test_cfg=dict(max_class_area=None),
    decode_head=dict(
        generator=dict(_delete_=True, type='IndependentPixelSampler')
    ),
)
