# Training-free sampling from the true probabilities of the flips.
_base_ = './control.py'
model = dict(
    decode_head=dict(generator=dict(_delete_=True, type='GumbelSampler')),
    discriminator=None,
)
