_base_ = './faithful.py'
model = dict(
    loss_cal=dict(_delete_=True, type='SampleCrossEntropy', loss_weight=5.0),
    train_cfg=dict(num_samples=1),
)
train_cfg = dict(
    phases=[
        dict(
            iters=1200,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ]
)
