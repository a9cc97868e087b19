# Of trainings that go on until their curve is flat: 30,000 iterations at most,
# scored on the way. Data are loaded by the process itself, so that its
# processor time is that of the training.
long_iters = 30000
long_interval = 250  # of scores and checkpoints
in_process = dict(num_workers=0, persistent_workers=False)
processor_time = dict(type='ProcessorTimeHook')
