# Training-free: shared Gumbel noise on the readers' mean.
_base_ = './control.py'
model = dict(
    decode_head=dict(generator=dict(_delete_=True, type='GumbelSampler')),
    discriminator=None,
)
# Nothing to train.
train_dataloader = None
train_cfg = None
optim_wrapper = None
param_scheduler = None
custom_hooks = None
