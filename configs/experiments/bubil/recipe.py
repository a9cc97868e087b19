# BU-BIL cells: mmcar's recipe from the F that calibration.py trained. F errs
# more than annotators differ, so G tunes a copy of F.
_base_ = [
    '../../_base_/models/car_tuned_small.py',
    '../../_base_/models/bubil_f.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/tuned.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        temperature=0.7,
        calibration=dict(symmetric=True, init_cfg={{_base_.f_weights}}),
        generator=dict(
            net=dict(symmetric=True, init_cfg={{_base_.f_weights}}),
            net_temperature=0.7,
            correlation_length=8.0,
            common=0.5,
        ),
    ),
)
param_scheduler = dict(generator=dict(end=1600))
train_cfg = dict(
    phases=[dict(iters=1600, train=['generator'])],
    val_begin=100000,
)
