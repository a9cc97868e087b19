# Where control_recipe.py starts: its model untrained, with the same noise.
_base_ = './control_recipe.py'
# Nothing to train.
train_dataloader = None
train_cfg = None
optim_wrapper = None
param_scheduler = None
custom_hooks = None
