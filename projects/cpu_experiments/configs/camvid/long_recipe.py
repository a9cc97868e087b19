# control_recipe.py, scored on the way as long.py is.
_base_ = ['./control_recipe.py', '../_base_/long.py']
train_dataloader = _base_.in_process
val_dataloader = dict(_base_.in_process, **_base_.some_scenes)
train_cfg = dict(
    phases=[dict(iters=1000, train=['generator', 'discriminator'])],
    val_begin=1,
    val_interval=_base_.long_interval,
)
custom_imports = _base_.hook_imports
custom_hooks = [*_base_.custom_hooks, _base_.processor_time]
default_hooks = dict(checkpoint=dict(interval=_base_.long_interval))
