# F alone. G stays as it starts: training-free, or from another run.
_base_ = './recipe.py'
optim_wrapper = dict(generator=None, discriminator=None)
train_cfg = dict(phases=[_base_.stage_1])
custom_hooks = None
