# cVAE-GAN with the calibration loss in place of a prior.
_base_ = './ct.py'
model = dict(decode_head=dict(generator=dict(type='LatentUNet')))
train_cfg = dict(phases=[dict(_base_.stage_2, iters=1200)])
