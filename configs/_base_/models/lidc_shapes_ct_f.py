# The F that experiments/lidc-shapes/ct_recipe.py trains.
f_weights = dict(
    type='Pretrained',
    checkpoint='work_dirs/experiments/lidc-shapes/ct_recipe/seed0/'
    'iter_900.pth',
    prefix='decode_head.calibration.',
)
