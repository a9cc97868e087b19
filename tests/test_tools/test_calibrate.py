"""tools/calibrate.py from the command line, and what others make of it."""

import json
import sys

import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.runner import load_checkpoint
from mmseg.registry import DATASETS, MODELS

from mmcar.apis import StochasticInferencer
from mmcar.evaluation import CalibrationMetric
from mmcar.utils.errors import UserError
from tests.test_tools.project import loader, stock_model, write_config
from tests.test_tools.scripts import load_script
from tests.toys import toy_config, toy_model

TOOL = 'tools/calibrate.py'
STOCK = stock_model()


def settings(folder):
    return dict(
        val_dataloader=loader(folder / 'data', 'val'),
        val_cfg=dict(type='ValLoop'),
        val_evaluator=dict(type='CalibrationMetric'),
        test_evaluator=dict(type='CalibrationMetric'),
    )


def too_sure(model):
    """Multiply a model's logits: it knows little and is sure of it."""
    calibrated = model.decode_head
    last = getattr(calibrated, 'conv_seg', None)
    last = last or calibrated.calibration.layers[-1]
    last.weight.data *= 30
    last.bias.data += torch.tensor([0.0, 3.0])
    return model


@pytest.fixture
def trained(tmp_path):
    config = write_config(tmp_path, **settings(tmp_path))
    checkpoint = tmp_path / 'm.pth'
    model = too_sure(toy_model(test_cfg=dict(num_samples=3)))
    torch.save(dict(state_dict=model.state_dict(), meta={}), checkpoint)
    return config, checkpoint


@pytest.fixture
def stock(tmp_path):
    """Config and weights of a model of MMSegmentation's own."""
    config = write_config(
        tmp_path, model=STOCK, custom_hooks=None, **settings(tmp_path)
    )
    torch.manual_seed(0)
    weights = too_sure(MODELS.build(STOCK)).state_dict()
    torch.save(dict(state_dict=weights, meta={}), tmp_path / 'm.pth')
    return config, tmp_path / 'm.pth'


def plain_network():
    torch.manual_seed(0)
    return torch.nn.Conv2d(3, 2, 1)


def calibrate(monkeypatch, *args):
    """The tool in this process, which saves the time to start one."""
    monkeypatch.setattr(sys, 'argv', [TOOL, *map(str, args)])
    load_script('calibrate.py').main()


def mean_nll(config, checkpoint):
    """NLL of all validation images, as a test would find it."""
    cfg = Config.fromfile(config)
    model = MODELS.build(cfg.model).eval()
    load_checkpoint(model, str(checkpoint), map_location='cpu')
    metric = CalibrationMetric()
    dataset = DATASETS.build(cfg.val_dataloader.dataset)
    for i in range(len(dataset)):
        samples = model.test_step(pseudo_collate([dataset[i]]))
        metric.process(None, [sample.to_dict() for sample in samples])
    return metric.compute_metrics(metric.results)['NLL']


def test_a_model_of_ours(trained, tmp_path, monkeypatch, capsys):
    config, checkpoint = trained
    options = ('--work-dir', tmp_path, '--method', 'vector')
    calibrate(monkeypatch, config, checkpoint, *options)
    out = tmp_path / 'm_vector.pth'
    report = json.loads(out.with_suffix('.json').read_text())['scores']
    for name in ('NLL', 'Brier', 'ECE'):
        assert report[name]['after'] < report[name]['before']
    assert report['changed']['after'] > 0  # the offset was wrong
    assert 'Changed decisions' in capsys.readouterr().out
    # The same config uses the scaling, on all images alike.
    assert mean_nll(config, out) < mean_nll(config, checkpoint) - 0.1
    # Again, from what is calibrated already: the same fit, not one on top.
    again = tmp_path / 'b.pth'
    calibrate(monkeypatch, config, out, *options, '--out', again)
    second = json.loads(again.with_suffix('.json').read_text())['scores']
    assert second == report


def test_a_stock_model(stock, tmp_path, monkeypatch):
    config, checkpoint = stock
    # A model of random weights may be worse than chance, which no
    # temperature mends; offsets do.
    options = '--work-dir', tmp_path, '--method', 'vector'
    calibrate(monkeypatch, config, checkpoint, *options)
    out = tmp_path / 'm_vector.pth'
    wrapped = out.with_suffix('.py')
    assert Config.fromfile(wrapped).model.type == 'CARSegmentor'
    assert mean_nll(wrapped, out) < mean_nll(config, checkpoint) - 0.1


def test_what_a_black_box_says_is_kept_first(tmp_path, monkeypatch):
    given = settings(tmp_path)
    root = tmp_path / 'kept'
    kept = dict(type='LoadBlackBoxProbs', form='probs', scale=(16, 16))
    given['val_dataloader']['dataset']['pipeline'].insert(
        -1, dict(kept, root=str(root))
    )
    name = f'{__name__}:plain_network'
    box = dict(type='TorchBlackBox', module=name, std=255)
    head = dict(type='CARHead', num_classes=2, black_box=box)
    head['generator'] = dict(type='GumbelSampler')
    model = toy_config(decode_head=head, discriminator=None)
    config = write_config(tmp_path, model=model, custom_hooks=None, **given)
    out = tmp_path / 'scaled.pth'
    calibrate(monkeypatch, config, '--out', out, '--work-dir', tmp_path)
    assert out.is_file() and len([*root.rglob('*.npz')]) == 4


@pytest.mark.parametrize('whose', ['trained', 'stock'])
def test_promises(whose, request, tmp_path, monkeypatch, capsys):
    config, checkpoint = request.getfixturevalue(whose)
    options = ('--promise', 'region', 'area', '--alpha', '0.5')
    calibrate(monkeypatch, config, checkpoint, *options)
    path = tmp_path / 'm.promises.json'
    content = json.loads(path.read_text())
    assert content['classes'].keys() == {'cell'}
    levels = content['classes']['cell']['levels']
    assert levels.keys() == {'region', 'inner_region', 'area'}
    said = capsys.readouterr().out
    assert str(path) in said and 'cell: area' in said
    inferencer = StochasticInferencer(config, checkpoint, device='cpu')
    image = str(next((tmp_path / 'data/images/val').iterdir()))
    (promise,) = inferencer(image)[0].promises
    assert promise.area is not None and promise.num_hypotheses is None
    out = tmp_path / 'out'
    names = (config, image, '--checkpoint', checkpoint, '--out-dir', out)
    options = ('--promises', path, '--no-figures', '--device', 'cpu')
    monkeypatch.setattr(sys, 'argv', ['infer.py', *map(str, names + options)])
    load_script('infer.py').main()
    summary = json.loads((out / 'summary.json').read_text())
    (said,) = summary['images'][0]['promises']
    assert said['area'] == list(promise.area)
    assert 'not for clinical' in summary['note']
    # Of a training that went on they are no more.
    loaded = torch.load(checkpoint)
    next(iter(loaded['state_dict'].values())).mul_(1.01)
    torch.save(loaded, checkpoint)
    with pytest.raises(UserError, match=path.name):
        StochasticInferencer(config, checkpoint, device='cpu')


def test_promises_of_several_classes_have_to_be_chosen(
    trained, tmp_path, monkeypatch
):
    data = settings(tmp_path)
    data['val_dataloader']['dataset']['metainfo'] = dict(classes=list('abc'))
    head = toy_config()['decode_head'] | dict(num_classes=3)
    model = toy_config(decode_head=head, discriminator=None)
    config = write_config(tmp_path, model=model, custom_hooks=None, **data)
    checkpoint = tmp_path / 'three.pth'
    weights = MODELS.build(model).state_dict()
    torch.save(dict(state_dict=weights, meta={}), checkpoint)
    options = ('--promise', 'region', 'samples', '--alpha', '0.5')
    with pytest.raises(UserError, match='--class'):
        calibrate(monkeypatch, config, checkpoint, *options)
    calibrate(monkeypatch, config, checkpoint, *options, '--class', 'b', 'c')
    content = json.loads(checkpoint.with_suffix('.promises.json').read_text())
    assert [entry['id'] for entry in content['classes'].values()] == [1, 2]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('--promise area --alpha 2', 'alpha=2'),
        ('--promise area --iou 0', '--iou=0'),
        ('--promise area --method vector', '--method'),
    ],
)
def test_refuses(options, message, monkeypatch):
    with pytest.raises(UserError, match=message):
        calibrate(monkeypatch, 'config.py', 'm.pth', *options.split())
