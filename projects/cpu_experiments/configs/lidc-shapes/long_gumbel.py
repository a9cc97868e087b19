# control_gumbel.py on the images that long.py is scored on.
_base_ = ['./control_gumbel.py', '../_base_/long.py']
some_slices = dict(_base_.some_slices.dataset, data_prefix=_base_.val_files)
test_dataloader = dict(dataset=some_slices)
test_evaluator = _base_.sample_metrics
