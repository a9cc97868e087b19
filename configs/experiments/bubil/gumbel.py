# GumbelSampler on the F that recipe.py trained.
_base_ = './recipe.py'
model = dict(
    decode_head=dict(
        generator=dict(_delete_=True, type='GumbelSampler'),
        noise=dict(type='NormalNoise'),
    ),
    discriminator=None,
)
