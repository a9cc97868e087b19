# IndependentPixelSampler on the F of start.py.
_base_ = './start.py'
model = dict(
    decode_head=dict(
        generator=dict(_delete_=True, type='IndependentPixelSampler')
    )
)
