# Gradients of the samples reach mean and variance of the latent code.
_base_ = './cvae-gan-cal_lidc.py'
model = dict(decode_head=dict(generator=dict(reparameterize=True)))
model_wrapper_cfg = dict(find_unused_parameters=False)
