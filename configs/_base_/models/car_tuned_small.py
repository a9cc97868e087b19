# The networks of car_tuned.py, thin enough for a CPU.
_base_ = ['./car_tuned.py', './small_f.py']
model = dict(
    decode_head=dict(
        calibration={{_base_.small_f}},
        generator=dict(net={{_base_.small_f}}),
    ),
)
