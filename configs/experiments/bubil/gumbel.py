# GumbelSampler on the F that recipe.py trained.
_base_ = './recipe.py'
model = dict(
    decode_head=dict(
        generator=dict(_delete_=True, type='GumbelSampler'),
        noise=dict(type='NormalNoise'),
    ),
    discriminator=None,
)
# Nothing to train.
train_dataloader = None
train_cfg = None
optim_wrapper = None
param_scheduler = None
custom_hooks = None
