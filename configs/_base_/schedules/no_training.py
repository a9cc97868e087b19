# For models without training. MMEngine wants all of its training keys or
# none: such a config also says `train_dataloader = None`.
train_cfg = None
optim_wrapper = None
param_scheduler = None
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
