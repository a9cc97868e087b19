# What the configs that tools/start.py writes have in common: F, a U-Net thin
# enough for a CPU, and samples of it that need no training of their own.
_base_ = [
    './models/gumbel_small.py',
    './datasets/loading.py',
    './schedules/calibration_only.py',
    './default_runtime.py',
]
model = dict(
    # U-Nets halve an image four times: any size is padded to a multiple of 16,
    # by repeating the edge, and what is predicted there is cut off again.
    data_preprocessor=dict(size_divisor=16, test_cfg=dict(size_divisor=16)),
    train_cfg=dict(soft_labels=True),  # F learns the share of annotators
)
own = dict(
    type='MultiAnnotatorDataset',
    data_prefix=dict(img_path='', seg_map_path=''),  # an index says the rest
)
train_dataloader = dict(batch_size=8, dataset=own)
# Whole images, one by one: their sizes may differ.
val_dataloader = dict(batch_size=1, dataset=own)
test_dataloader = dict(batch_size=1, dataset=own)
ged = dict(type='GEDMetric', num_samples=(16,))
hm_iou = dict(type='HMIoUMetric', num_samples=(16,))
ece = dict(type='CalibrationMetric')
val_evaluator = [ged, hm_iou, ece]
test_evaluator = val_evaluator
train_cfg = dict(val_begin=_base_.never)  # the minutes go to training
