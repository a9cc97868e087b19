# cVAE-GAN with the calibration loss in place of a prior. The latent code is
# drawn without a gradient: with one, samples collapse to copies of F.
_base_ = './car_segnet_1xb32-80k_lidc-slices-128x128.py'
model = dict(
    decode_head=dict(generator=dict(type='LatentUNet', reparameterize=False))
)
# The code's layer gets no gradient at all.
model_wrapper_cfg = dict(find_unused_parameters=True)
