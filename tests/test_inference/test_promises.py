"""Promises of a model: fitted, kept beside its weights, given of images."""

import json

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS

from mmcar.apis import StochasticInferencer
from mmcar.inference.promises import Promises, file_beside, fit_promises
from mmcar.utils.errors import UserError
from tests.test_inference.models import own_config, save_weights
from tests.test_tools.project import loader, write_data

KINDS = ('region', 'samples', 'area')
ALPHA = 0.4


@pytest.fixture(scope='module')
def fitted(tmp_path_factory):
    """A data set of 6 patients, and what is promised on it."""
    folder = tmp_path_factory.mktemp('promises')
    write_data(folder / 'data', images=12)
    init_default_scope('mmseg')
    settings = loader(folder / 'data', 'val')['dataset']
    settings['patient_pattern'] = r'\d(?=\d?\.png$)'
    cfg = own_config()
    cfg.test_dataloader.dataset = settings
    weights = save_weights(cfg, folder / 'weights.pth')
    plain = StochasticInferencer(cfg, weights, device='cpu')
    what = DATASETS.build(settings), KINDS, {'cell': 1}, ALPHA, 0.2
    promises = fit_promises(plain.model, cfg.model, *what)
    promises.save(file_beside(weights))
    return folder, cfg, weights, plain, promises


def images(folder):
    return sorted(str(p) for p in (folder / 'data/images/val').glob('*.png'))


def test_what_the_file_says(fitted):
    _, _, weights, _, promises = fitted
    content = json.loads(file_beside(weights).read_text())
    assert content['unit'] == 'patient'
    entry = content['classes']['cell']
    assert {'region', 'inner_region', 'area'} < entry['levels'].keys()
    assert ('samples' in entry['levels']) != ('best_iou' in entry['levels'])
    assert entry['held'].keys() == {*entry['levels'], 'region_if_marked'}
    for one in entry['held'].values():
        assert 0 <= one['held'] <= 1
        assert one['units'] + len(content['fitted_on']) == 10  # all digits
    assert 'not for clinical decisions' in content['note']
    assert promises.classes == content['classes']


def test_what_is_promised_holds_where_it_was_fitted(fitted):
    """Region and area by counting on the images, annotator by annotator."""
    folder, cfg, weights, _, _ = fitted
    inferencer = StochasticInferencer(cfg, weights, device='cpu')
    missed, outside, unmarked = [], [], []
    for path in images(folder):
        (result,) = inferencer(path)
        (promise,) = result.promises
        low, high = promise.area
        assert high <= promise.region.size
        for annotator in (0, 1):
            mark = np.zeros((16, 16), bool)
            mark[4 : 8 + 2 * annotator, 4:10] = True
            missed.append(1 - promise.region[mark].mean())
            inner = promise.inner_region
            unmarked.append(1 - mark[inner].mean() if inner.any() else 0)
            outside.append(not low <= mark.sum() <= high)
        assert 1 <= promise.num_hypotheses <= len(result.hypotheses)
    # Half of them were not fitted on: a little more than alpha is allowed.
    for losses in (missed, unmarked, outside):
        assert np.mean(losses) < ALPHA + 0.2
    assert np.mean(missed) > 0.05, 'more than the whole image was promised'


def test_what_depends_on_samples_needs_as_many(fitted, tmp_path):
    folder, cfg, weights, *_ = fitted
    inferencer = StochasticInferencer(cfg, weights, device='cpu')
    image = images(folder)[0]
    ((whole,), (fewer,), (apart,)) = (
        inferencer(image, **options)[0].promises
        for options in ({}, dict(num_samples=3), dict(threshold=0.5))
    )
    assert whole.area is not None and whole.left_out is None
    for one in (fewer, apart):
        assert one.area is one.num_hypotheses is None
        assert '5 samples' in one.left_out
        np.testing.assert_array_equal(one.region, whole.region)
    result = inferencer(image, out_dir=tmp_path)[0]
    assert (tmp_path / 'promises' / '0.png').stat().st_size > 1000
    (summary,) = result.summary()['promises']
    assert summary['region_area'] == whole.region.sum()
    json.dumps(summary)


def test_promises_of_another_model_are_refused(fitted, tmp_path):
    _, cfg, weights, plain, _ = fitted
    path = file_beside(weights)
    other, content = tmp_path / 'other.pth', torch.load(weights)
    next(iter(content['state_dict'].values())).view(-1)[0] += 1  # but one
    torch.save(content, other)
    with pytest.raises(UserError, match='other weights'):
        StochasticInferencer(cfg, other, device='cpu', promises=path)
    changed = Config(cfg.to_dict())
    changed.model.decode_head.generator.correlation_length = 2.0
    with pytest.raises(UserError, match='other settings'):
        StochasticInferencer(changed, weights, device='cpu')
    more = Config(cfg.to_dict())
    more.model.test_cfg.num_samples = 3
    assert StochasticInferencer(more, weights, device='cpu').promises
    assert plain.promises is None
    (tmp_path / 'no.json').write_text('{"alpha": 1}')
    for name in ('no.json', 'nowhere.json'):
        with pytest.raises(UserError, match=name):
            Promises.find(tmp_path / name, None, plain.model, cfg.model)


def test_too_few_patients(fitted):
    _, cfg, _, plain, _ = fitted
    dataset = DATASETS.build(cfg.test_dataloader.dataset)
    with pytest.raises(UserError, match='at least 9'):
        fit_promises(plain.model, cfg.model, dataset, KINDS, {'cell': 1}, 0.1)
