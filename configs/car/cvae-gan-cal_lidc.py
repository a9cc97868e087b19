# cVAE-GAN with the calibration loss in place of a prior.
_base_ = './car_lidc.py'
model = dict(decode_head=dict(generator=dict(type='LatentUNet')))
