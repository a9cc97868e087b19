# Training-free sampling from the F that ct_recipe.py trained.
_base_ = './ct.py'
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
