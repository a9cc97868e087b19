# CAR on real CT in the public PNG copy of LIDC, M = 20: networks, losses and
# schedule of the paper's headline row, learning rates halved when it does.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/datasets/lidc_slices.py',
    '../_base_/schedules/car_two_stage.py',
    '../_base_/default_runtime.py',
]
model = _base_.hundred_samples
test_evaluator = _base_.paper_metrics
