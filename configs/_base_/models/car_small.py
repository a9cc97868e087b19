# The paper's networks, thin enough for a CPU.
_base_ = ['./car.py', './small_f.py']
model = dict(
    decode_head=dict(
        calibration={{_base_.small_f}},
        generator=dict(base_channels=16),
    ),
    discriminator=dict(base_channels=16, depth=3),
)
