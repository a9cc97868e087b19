# Flips, quarter turns, small turns and changes of brightness and contrast.
augment = [
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='RandomFlip', prob=0.5, direction='vertical'),
    dict(type='RandomRotate', prob=0.5, degree=(90, 90)),
    dict(type='RandomRotate', prob=0.5, degree=15.0),
    dict(
        type='PhotoMetricDistortion',
        brightness_delta=16,
        contrast_range=(0.8, 1.2),
        saturation_range=(1, 1),
        hue_delta=1,
    ),
]
