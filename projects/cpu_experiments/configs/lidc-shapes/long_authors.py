# As long.py, with the authors' published code:
# projects/paper/authors_code.md has the list.
_base_ = [
    '../_base_/authors.py',
    '../_base_/lidc_shapes_32.py',
    '../_base_/long.py',
]
model = dict(discriminator=dict(image_size=(32, 32)))
train_pipeline = [*_base_.load, _base_.crop, _base_.resize, _base_.pack]
train_dataloader = dict(
    _base_.in_process, dataset=dict(pipeline=train_pipeline)
)
val_dataloader = dict(_base_.in_process, **_base_.some_slices)
val_evaluator = _base_.sample_metrics
train_cfg = dict(
    phases=[dict(_base_.stage_2, iters=_base_.long_iters)],
    val_interval=_base_.long_interval,
)
custom_imports = _base_.hook_imports
custom_hooks = [*_base_.custom_hooks, _base_.processor_time]
default_hooks = dict(checkpoint=dict(interval=_base_.long_interval))
