# CamVid flips at 48x64, as in the CPU experiments.
_base_ = '../../../cpu_experiments/configs/_base_/camvid_flips_48x64.py'
val_dataloader = None
