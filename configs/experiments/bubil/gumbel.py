# Training-free sampling from the F that calibration.py trained.
_base_ = './calibration.py'
model = dict(
    decode_head=dict(
        generator=dict(_delete_=True, type='GumbelSampler'),
        noise=dict(type='NormalNoise'),
    )
)
# Nothing to train.
train_dataloader = None
train_cfg = None
optim_wrapper = None
param_scheduler = None
