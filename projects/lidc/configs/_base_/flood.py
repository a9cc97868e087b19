# Samples with a nodule larger than any that an annotator drew in training:
# 1724 of 128x128 pixels.
flood = dict(
    type='FloodMetric', num_samples=(16,), largest=(1.0, 1724 / 128**2)
)
