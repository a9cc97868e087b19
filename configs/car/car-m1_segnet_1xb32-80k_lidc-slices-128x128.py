_base_ = './car_segnet_1xb32-80k_lidc-slices-128x128.py'
model = dict(train_cfg=dict(num_samples=1))
