# LIDC shapes from the simulated CT: paper's recipe for G and D, on the F that
# ct_recipe.py trained.
_base_ = [
    '../_base_/faithful.py',
    '../_base_/lidc_shapes_32.py',
    '../../trained.py',
]
model = dict(
    decode_head=dict(calibration=dict(init_cfg=_base_.lidc_shapes_f)),
    train_cfg=dict(num_samples=8),
)
