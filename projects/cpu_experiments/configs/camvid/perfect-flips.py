# Bound: perfect flips of the black box's own decision.
_base_ = './gumbel.py'
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='FlippedDecision'))
)
