# Stochastic Segmentation Network: a low-rank Gaussian over the logits.
_base_ = '../_base_/method_lidc.py'
model = dict(
    type='StochasticSegmentationNetwork',
    num_classes=2,
    net=_base_.method_net,
    rank=10,
    train_samples=20,
    data_preprocessor=_base_.preprocessor,
    test_cfg=dict(mode='whole', num_samples=16),
)
optim_wrapper = dict(net=_base_.method_optim)
