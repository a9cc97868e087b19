# Ground-truth control on LIDC shapes: G on the readers' mean, paper's recipe.
_base_ = ['../_base_/faithful.py', '../_base_/lidc_shapes_32.py']
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='KnownDistribution'))
)
