# What data sets with class flips share: training flips at random, scores
# know the table.
_base_ = './loading.py'
class_flips = dict(type='RandomClassFlips')
val_evaluator = [
    dict(type='GEDMetric', num_samples=(16,)),
    dict(type='CalibrationMetric'),
    dict(type='FlipMetric'),
]
test_evaluator = val_evaluator
