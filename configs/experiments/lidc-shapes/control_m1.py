# More iterations than control.py, which draws many more samples in each.
_base_ = './control.py'
model = dict(train_cfg=dict(num_samples=1))
train_cfg = dict(
    phases=[
        dict(
            iters=3000,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        )
    ]
)
