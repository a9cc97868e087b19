# control_gumbel.py on the images that long.py is scored on.
_base_ = ['./control_gumbel.py', '../_base_/long.py']
test_dataloader = _base_.some_scenes
