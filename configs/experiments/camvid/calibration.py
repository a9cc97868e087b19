# CamVid flips: F on the black box of black_box.py. Its G is untrained.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/models/camvid_black_box.py',
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=16,
        black_box={{_base_.black_box}},
        calibration={{_base_.untrained_f}},
    ),
    discriminator=None,
)
optim_wrapper = dict(generator=None, discriminator=None)
param_scheduler = dict(calibration=dict(end=1500))
train_cfg = dict(
    phases=[dict(iters=1500, train=['calibration'])], val_begin=100000
)
custom_hooks = None
