# To choose settings: trained on digits 0 to 5, scored on digit 6.
_base_ = './_base_/f_center64.py'
train_dataloader = _base_.choose_train
val_dataloader = _base_.choose_val
test_dataloader = _base_.choose_val
train_cfg = dict(phases=[dict(iters=6000, train=['calibration'])])
