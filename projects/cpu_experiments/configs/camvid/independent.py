# IndependentPixelSampler on the F that calibration.py trained.
_base_ = './gumbel.py'
model = dict(
    decode_head=dict(
        generator=dict(_delete_=True, type='IndependentPixelSampler')
    )
)
