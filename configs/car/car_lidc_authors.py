# CAR on LIDC as in the authors' published code;
# projects/paper/authors_code.md compares.
_base_ = [
    '../_base_/models/car_authors.py',
    '../_base_/datasets/lidc.py',
    '../_base_/schedules/car_authors.py',
    '../_base_/default_runtime.py',
]
# Its mirroring does nothing.
train_pipeline = [*_base_.load, _base_.crop, _base_.pack]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
model = _base_.hundred_samples
test_evaluator = _base_.paper_metrics
