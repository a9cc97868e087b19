_base_ = './control.py'
model = dict(train_cfg=dict(num_samples=5))
train_cfg = dict(
    phases=[
        dict(
            iters=2500,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        )
    ]
)
