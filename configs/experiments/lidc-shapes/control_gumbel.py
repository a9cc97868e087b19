# Training-free: shared Gumbel noise on the readers' mean.
_base_ = './control.py'
model = dict(
    decode_head=dict(generator=dict(_delete_=True, type='GumbelSampler')),
    discriminator=None,
)
