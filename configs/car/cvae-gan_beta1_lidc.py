# cVAE-GAN with the ELBO: a prior on the latent code, and no F. The KL weighs
# as much as in the authors' code, which takes the mean over pixels of the
# cross entropy alone.
_base_ = './cvae-gan-cal_lidc_reparameterized.py'
elbo = dict(type='ELBOLoss', beta=1, loss_weight=5.0, per_pixel=False)
model = dict(
    decode_head=dict(
        calibration=dict(_delete_=True, type='UniformCalibration')
    ),
    loss_samples=[elbo],
    train_cfg=dict(num_samples=1),
)
optim_wrapper = dict(calibration=None)
train_cfg = dict(phases=[_base_.stage_2])
val_evaluator = _base_.sample_metrics
test_evaluator = _base_.paper_metrics[:2]
