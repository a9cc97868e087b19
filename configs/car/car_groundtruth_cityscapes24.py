# Control: G on the true pixelwise probabilities; no black box, no F to train.
_base_ = './car_deeplabv3_cityscapes24.py'
model = dict(
    decode_head=dict(
        black_box=None,
        calibration=dict(_delete_=True, type='KnownDistribution'),
    )
)
train_pipeline = [*_base_.read_train, *_base_.augment]
val_pipeline = test_pipeline = [*_base_.read_val, _base_.pack]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=val_pipeline))
test_dataloader = val_dataloader
optim_wrapper = dict(calibration=None)
train_cfg = dict(phases=[_base_.stage_2])
