# What every data set shares: how files are read, and how loaders go through
# them. Training draws one annotator of an image, a test sees all.
load_image = dict(type='LoadCheckedImage')
load = [load_image, dict(type='LoadMultiAnnotations', keep_all=True)]
load_all = [load_image, dict(type='LoadMultiAnnotations', draw=False)]
mirror = dict(type='RandomFlip', prob=0.5)
pack = dict(type='PackStochasticInputs')
train_dataloader = dict(
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='InfiniteSampler', shuffle=True),
)
val_dataloader = dict(
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(test_mode=True),
)
test_dataloader = val_dataloader
