import json

import numpy as np
import pytest
from PIL import Image

from mmcar.apis import StochasticInferencer
from mmcar.inference.results import claim_out_dir
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
    result.name = '../x'
    with pytest.raises(ValueError, match='leads out'):
        result.save(tmp_path / 'out')
    assert not (tmp_path / 'x.png').exists()
    array = np.zeros((400, 16, 3), np.uint8)  # no text to be taken for a path
    own(array, num_samples=1, out_dir=tmp_path / 'array')
    assert (tmp_path / 'array/decision/array_000.png').is_file()


@pytest.mark.parametrize(
    ('given', 'out'),
    [
        *(('in', 'in'), ('in/**/*.png', 'in/overlay'), ('overlay', '.')),
        *((['in', 'overlay/p/a.png'], '.'), ('npz/*.png', '.')),
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
