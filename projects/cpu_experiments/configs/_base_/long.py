# Of trainings that go on until their curve is flat: 30,000 iterations at most,
# scored on the way, all on the same images of their data set. Data are loaded
# by the process itself, so that its processor time is that of the training.
long_iters = 30000
long_interval = 250  # of scores and checkpoints
in_process = dict(num_workers=0, persistent_workers=False)
processor_time = dict(type='ProcessorTimeHook')
hook_imports = dict(imports=['mmcar', 'projects.processor_time'])
# Every eighth validation slice of the LIDC shapes, every second CamVid image.
some_slices = dict(dataset=dict(indices=list(range(0, 2240, 8))))
some_scenes = dict(dataset=dict(indices=list(range(0, 101, 2))))
