# What mmcar adds to the paper's networks: G starts as the training-free
# shared-Gumbel sampler and learns what that cannot express.
model = dict(
    decode_head=dict(
        generator=dict(
            norm_cfg=None,
            dropout=0.0,
            film='residual',
            upsample='resize',
            gumbel=dict(),
        ),
        noise=dict(type='SobolNoise'),
    )
)
