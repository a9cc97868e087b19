# Training-free sampling from the F that ct.py trained.
_base_ = './ct.py'
model = dict(
    decode_head=dict(generator=dict(_delete_=True, type='GumbelSampler')),
    discriminator=None,
)
