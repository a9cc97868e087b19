# Ground-truth control on LIDC shapes: G on the readers' mean, mmcar's recipe.
_base_ = ['../_base_/recipe.py', '../_base_/lidc_shapes_32.py']
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='KnownDistribution'))
)
train_cfg = dict(
    phases=[dict(iters=1000, train=['generator', 'discriminator'])]
)
