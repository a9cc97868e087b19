# LIDC shapes from the simulated CT: G tunes a copy of the F that ct_recipe.py
# trained.
_base_ = [
    '../_base_/tuned.py',
    '../_base_/lidc_shapes_32.py',
    '../../trained.py',
]
trained = dict(init_cfg=_base_.lidc_shapes_f)
model = dict(
    decode_head=dict(calibration=trained, generator=dict(net=trained))
)
param_scheduler = dict(generator=dict(end=1500))
train_cfg = dict(phases=[dict(iters=1500, train=['generator'])])
