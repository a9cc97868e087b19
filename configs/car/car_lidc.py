# CAR on LIDC, M = 20: the paper's headline row.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/datasets/lidc.py',
    '../_base_/schedules/car_two_stage.py',
    '../_base_/default_runtime.py',
]
model = _base_.hundred_samples
test_evaluator = _base_.paper_metrics
