_base_ = './control.py'
model = dict(train_cfg=dict(num_samples=5))
train_cfg = dict(phases=[dict(_base_.stage_2, iters=2500)])
