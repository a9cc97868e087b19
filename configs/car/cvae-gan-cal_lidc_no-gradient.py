# The latent code is drawn without a gradient, as in the authors' code.
_base_ = './cvae-gan-cal_lidc.py'
model = dict(decode_head=dict(generator=dict(reparameterize=False)))
# The code's layer gets no gradient at all.
model_wrapper_cfg = dict(find_unused_parameters=True)
