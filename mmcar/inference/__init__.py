"""From a trained model to results: images in, samples out."""
