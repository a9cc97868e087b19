# Real CT with mmcar's own recipe: the start is calibrated and coherent.
_base_ = [
    '../_base_/models/car_recipe.py',
    '../_base_/datasets/lidc_slices.py',
    '../_base_/schedules/recipe.py',
    '../_base_/default_runtime.py',
]
