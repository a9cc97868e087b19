# Probabilistic U-Net: a latent code per sample, from a prior net.
_base_ = '../_base_/method_lidc.py'
model = dict(
    type='ProbabilisticUNet',
    num_classes=2,
    net=_base_.method_net,
    latent_size=6,
    beta=1.0,
    data_preprocessor=_base_.preprocessor,
    test_cfg=dict(mode='whole', num_samples=16),
)
optim_wrapper = dict(net=_base_.method_optim)
