# The training-free sampler, for an F as thin as in the other small models.
_base_ = './car_small.py'
model = dict(
    decode_head=dict(generator=dict(_delete_=True, type='GumbelSampler')),
    discriminator=None,
)
