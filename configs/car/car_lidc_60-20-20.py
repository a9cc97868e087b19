# CAR on the other public selection of LIDC: 15,096 images split 60:20:20, in
# which the paper compares with PHiSeg.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/datasets/lidc_pickle_60-20-20.py',
    '../_base_/schedules/car_two_stage.py',
    '../_base_/default_runtime.py',
]
# 30 epochs of 9058 images in batches of 32.
param_scheduler = [dict(_base_.halved_lr, milestones=[8491])]
model = _base_.hundred_samples
test_evaluator = _base_.paper_metrics
