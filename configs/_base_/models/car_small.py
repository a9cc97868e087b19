# The paper's networks, thin enough for a CPU.
_base_ = ['./car.py', './small.py']
model = _base_.small
