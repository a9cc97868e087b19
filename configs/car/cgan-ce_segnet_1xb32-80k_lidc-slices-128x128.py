# Control: cross entropy with the label in place of the calibration loss.
_base_ = './car-m1_segnet_1xb32-80k_lidc-slices-128x128.py'
model = dict(loss_samples=[dict(type='SampleCrossEntropy', loss_weight=5.0)])
