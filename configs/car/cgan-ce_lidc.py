# Control: cross entropy with the label in place of the calibration loss.
_base_ = './car_lidc.py'
model = dict(
    loss_samples=[dict(type='SampleCrossEntropy', loss_weight=5.0)],
    train_cfg=dict(num_samples=1),
)
