import json

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from PIL import Image

from mmcar.apis import StochasticInferencer
from mmcar.inference.image_list import LoadedImage
from mmcar.inference.results import InferenceResult, claim_out_dir
from tests.test_inference.models import own_config, save_weights, write_images


def read_png(path):
    return np.array(Image.open(path))


def test_files(tmp_path):
    cfg = own_config()
    weights = save_weights(cfg, tmp_path / 'w.pth')
    own = StochasticInferencer(cfg, weights, device='cpu')
    images = write_images(tmp_path / 'in', [(16, 16), (16, 24)])
    result = own(images, num_samples=3, out_dir=tmp_path / 'out', npz=True)[1]
    found = {
        path.relative_to(tmp_path / 'out').as_posix()
        for path in (tmp_path / 'out').rglob('*')
        if path.is_file()
    }
    kinds = ('decision', 'overlay', 'uncertainty', 'hypotheses', 'contours')
    expected = {f'{kind}/{i}.png' for kind in kinds for i in (0, 1)}
    expected |= {f'samples/{i}/00{k}.png' for i in (0, 1) for k in range(3)}
    expected |= {f'npz/{i}.npz' for i in (0, 1)}
    assert found == expected
    kept = read_png(tmp_path / 'out/samples/1/002.png')
    np.testing.assert_array_equal(kept, result.samples[2])
    with np.load(tmp_path / 'out/npz/1.npz') as arrays:
        np.testing.assert_array_equal(arrays['samples'], result.samples)
        np.testing.assert_array_equal(arrays['entropy'], result.entropy)
        for number, h in enumerate(result.hypotheses):
            members = arrays['hypothesis_of_sample'][list(h.members)]
            assert (members == number).all()
    assert json.loads(json.dumps(result.summary()))['num_samples'] == 3
    # Of an earlier run nothing stays beside what another one writes.
    own(images[0], num_samples=2, seed=1, out_dir=tmp_path / 'out')
    again = {p for p in found if (tmp_path / 'out' / p).exists()}
    assert found - again == {'samples/0/002.png', 'npz/0.npz'}
    array = np.zeros((400, 16, 3), np.uint8)  # no text to be taken for a path
    own(array, num_samples=1, out_dir=tmp_path / 'array')
    assert (tmp_path / 'array/decision/array_000.png').is_file()


def flipped_result(**meta):
    """Four classes, of which 1 turns into 3 in six of eight samples."""
    samples = torch.zeros(8, 12, 12, dtype=torch.uint8)
    samples[:, :4] = 1
    samples[:, 8:] = 2
    samples[2:, :4] = 3
    probs = torch.nn.functional.one_hot(samples.long(), 4).float().mean(0)
    probs = probs.permute(2, 0, 1)
    predicted = SegDataSample()
    predicted.pred_samples = PixelData(data=samples)
    predicted.pred_sem_seg = PixelData(data=probs.argmax(0, keepdim=True))
    predicted.seg_logits = PixelData(data=probs.clamp_min(1e-30).log())
    predicted.sample_probs = PixelData(data=probs)
    loaded = LoadedImage('x', None, np.zeros((12, 12, 3), np.uint8), {})
    meta = dict(classes=('sky', 'car', 'road', 'car2')) | meta
    return InferenceResult.of(loaded, predicted, meta)


def test_states_of_switchable_classes():
    summary = flipped_result(class_flips=[(1, 3, 0.5)]).summary()
    (state,) = summary['class_flips']
    assert (state['source'], state['as_source']) == ('car', 0.25)
    assert (state['twin'], state['as_twin']) == ('car2', 0.75)
    assert [h['probability'] for h in summary['hypotheses']] == [0.75, 0.25]
    (change,) = summary['hypotheses'][1]['changes']
    assert (change['before'], change['after']) == ('car2', 'car')
    assert flipped_result().flip_states == []


def test_names_that_lead_out_of_the_folder(tmp_path):
    result = flipped_result()
    result.name = '../x'
    with pytest.raises(ValueError, match='leads out'):
        result.save(tmp_path / 'out')
    assert not (tmp_path / 'x.png').exists()


@pytest.mark.parametrize(
    ('given', 'out'),
    [
        ('in', 'in'),
        ('in/**/*.png', 'in/overlay'),
        ('overlay', '.'),
        (['in', 'overlay/p/a.png'], '.'),
        ('npz/*.png', '.'),
    ],
)
def test_results_lie_neither_among_images_nor_over_them(
    tmp_path, monkeypatch, given, out
):
    monkeypatch.chdir(tmp_path)
    for folder in ('in/p', 'overlay/p'):
        (tmp_path / folder).mkdir(parents=True)
    claim_out_dir('out', given)
    with pytest.raises(ValueError, match=r'choose (one outside|another)'):
        claim_out_dir(out, given)
