# control.py, trained long: paper's recipe on the readers' mean.
_base_ = ['./control.py', '../_base_/long.py']
train_dataloader = _base_.in_process
val_dataloader = dict(_base_.in_process, **_base_.some_slices)
val_evaluator = _base_.sample_metrics
train_cfg = dict(
    phases=[dict(_base_.stage_2, iters=_base_.long_iters)],
    val_begin=1,
    val_interval=_base_.long_interval,
)
custom_imports = _base_.hook_imports
custom_hooks = [*_base_.custom_hooks, _base_.processor_time]
default_hooks = dict(checkpoint=dict(interval=_base_.long_interval))
