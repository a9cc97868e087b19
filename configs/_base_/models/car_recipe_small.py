# The recipe's networks, thin enough for a CPU.
_base_ = ['./car_recipe.py', './small.py']
model = _base_.small
