# LIDC with mmcar's own recipe: the start is already calibrated and coherent.
_base_ = [
    '../_base_/models/car_recipe.py',
    '../_base_/datasets/lidc.py',
    '../_base_/schedules/recipe.py',
    '../_base_/default_runtime.py',
]
