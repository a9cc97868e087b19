_base_ = './cvae-gan_beta1_lidc.py'
model = dict(loss_samples=[dict(_base_.elbo, beta=10)])
