_base_ = './ct.py'
model = dict(decode_head=dict(generator=dict(type='LatentUNet')))
train_cfg = dict(
    phases=[
        dict(
            iters=1200,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ]
)
