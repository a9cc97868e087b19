# F on all training patients, until its curve is flat; its samples need no
# training of their own.
_base_ = './_base_/f_center64.py'
train_cfg = dict(
    phases=[dict(iters=6000, train=['calibration'])], val_interval=6000
)
