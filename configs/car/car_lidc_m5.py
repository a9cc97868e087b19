_base_ = './car_lidc.py'
model = dict(train_cfg=dict(num_samples=5))
