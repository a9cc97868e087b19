# More iterations than control.py, which draws many more samples in each.
_base_ = './control.py'
model = dict(train_cfg=dict(num_samples=1))
train_cfg = dict(phases=[dict(_base_.stage_2, iters=3000)])
