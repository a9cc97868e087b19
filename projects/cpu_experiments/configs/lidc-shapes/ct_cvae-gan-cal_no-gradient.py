# The latent code is drawn without a gradient, as in the authors' code.
_base_ = './ct_cvae-gan-cal.py'
model = dict(decode_head=dict(generator=dict(reparameterize=False)))
