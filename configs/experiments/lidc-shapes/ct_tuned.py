# LIDC shapes from the simulated CT: G tunes a copy of the F that ct_recipe.py
# trained.
_base_ = [
    '../../_base_/models/car_tuned_small.py',
    '../../_base_/models/lidc_shapes_ct_f.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/tuned.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(init_cfg={{_base_.f_weights}}),
        generator=dict(net=dict(init_cfg={{_base_.f_weights}})),
    ),
)
param_scheduler = dict(generator=dict(end=1500))
train_cfg = dict(
    phases=[dict(iters=1500, train=['generator'])],
    val_begin=100000,
)
