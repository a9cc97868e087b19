# Control: G on the true pixelwise probabilities; no black box, no F to train.
_base_ = './car_deeplabv3_cityscapes24.py'
model = dict(
    decode_head=dict(
        black_box=None,
        calibration=dict(_delete_=True, type='KnownDistribution'),
    )
)
optim_wrapper = dict(calibration=None)
train_cfg = dict(phases=[_base_.stage_2])
