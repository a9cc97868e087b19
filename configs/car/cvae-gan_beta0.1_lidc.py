_base_ = './cvae-gan_beta1_lidc.py'
model = dict(
    loss_samples=[
        dict(type='ELBOLoss', beta=0.1, loss_weight=5.0, per_pixel=False)
    ]
)
