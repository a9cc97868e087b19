# BU-BIL cells: mmcar's recipe from the F that calibration.py trained. F errs
# more than annotators differ, so G tunes a copy of F.
_base_ = [
    '../_base_/tuned.py',
    '../_base_/bubil_64.py',
    '../../trained.py',
]
trained = dict(symmetric=True, init_cfg=_base_.bubil_f)
model = dict(
    decode_head=dict(
        temperature=0.7,
        calibration=trained,
        generator=dict(
            net=trained,
            net_temperature=0.7,
            correlation_length=3.9,
            common=0.33,
            floor=0.02,
        ),
    ),
)
param_scheduler = dict(generator=dict(end=1600))
train_cfg = dict(phases=[dict(iters=1600, train=['generator'])])
