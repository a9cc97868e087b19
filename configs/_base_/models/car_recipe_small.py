# The recipe's networks, thin enough for a CPU.
_base_ = './car_recipe.py'
model = dict(
    decode_head=dict(
        calibration=dict(base_channels=16),
        generator=dict(base_channels=16),
    ),
    discriminator=dict(base_channels=16, depth=3),
)
