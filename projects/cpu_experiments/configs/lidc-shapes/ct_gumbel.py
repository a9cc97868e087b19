# Training-free sampling from the F that ct_recipe.py trained.
_base_ = ['../_base_/training_free.py', '../_base_/lidc_shapes_32.py']
train_dataset = _base_.train_dataloader.dataset  # measure of floods
train_dataloader = None
