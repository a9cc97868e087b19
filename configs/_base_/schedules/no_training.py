# For models without training. MMEngine wants all of its training keys or
# none: such a config also says `train_dataloader = None`, and may name the
# data set as `train_dataset`: `--eval flood-rate` compares with its labels.
train_cfg = None
optim_wrapper = None
param_scheduler = None
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
