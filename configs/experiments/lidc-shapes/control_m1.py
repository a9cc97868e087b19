_base_ = './control.py'
model = dict(train_cfg=dict(num_samples=1))
