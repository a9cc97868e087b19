# cVAE-GAN with the ELBO: a prior on the latent code, and no F.
_base_ = './ct_cvae-gan-cal.py'
model = dict(
    decode_head=dict(
        calibration=dict(_delete_=True, type='UniformCalibration')
    ),
    loss_samples=[dict(type='ELBOLoss', beta=1.0, loss_weight=5.0)],
    train_cfg=dict(num_samples=1),
)
