import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mmcar.evaluation import contour_boxplot, find_flip_states, hypotheses
from mmcar.report import page
from mmcar.report.page import pack_image
from mmcar.report.page.explored_image import pack_bytes
from mmcar.structures import ClassFlips

from .unpacking import unpack, unpack_maps

SIZE = (12, 20)
ASSETS = Path(page.__file__).parent / 'assets'


def explored(num_classes=2, annotators=3, samples=5, size=SIZE, flips=()):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(num_classes), size).transpose(2, 0, 1)
    dtype = np.uint8 if num_classes <= 256 else np.uint16
    maps = rng.integers(0, num_classes, (samples, *size)).astype(dtype)
    labels = rng.integers(0, num_classes, (annotators, *size))
    labels[0, :2] = 99
    drawn = torch.from_numpy(maps.astype(np.int64))
    decision = torch.from_numpy(probs.argmax(0))
    table = ClassFlips.parse(flips)
    return SimpleNamespace(
        name='val/0.png',
        classes=[f'class {k}' for k in range(num_classes)],
        image=rng.integers(0, 256, (*size, 3), np.uint8),
        labels=labels.astype(dtype),
        decision=probs.argmax(0).astype(dtype),
        samples=maps,
        sample_weights=np.full(samples, 1 / samples),
        class_probs=probs.astype(np.float32),
        hypotheses=hypotheses(drawn, decision, num_classes=num_classes),
        flip_states=find_flip_states(drawn, table),
        boxplot=contour_boxplot(drawn == 1) if num_classes == 2 else None,
        promises=(),
    )


def pack(image, **options):
    packed = pack_image(image, image.labels, ignore_index=99, **options)
    return json.loads(json.dumps(packed, allow_nan=False))


def test_all_maps_come_back_and_ignored_pixels_are_marked():
    image = explored()
    packed = pack(image)
    decision, labels, samples = unpack_maps(packed)
    np.testing.assert_array_equal(decision, image.decision)
    np.testing.assert_array_equal(samples, image.samples)
    assert packed['ignored'] == 255
    expected = np.where(image.labels == 99, 255, image.labels)
    np.testing.assert_array_equal(labels, expected)
    assert (labels == 255).any()


@pytest.mark.skipif(shutil.which('node') is None, reason='needs node')
def test_a_sample_counts_as_the_draws_it_stands_for():
    image = explored(num_classes=3, samples=4)
    image.sample_weights = np.array([0.5, 0.25, 0.125, 0.125])
    packed = pack(image)
    seen = dict(
        pixels=image.samples[0].size,
        samples=image.samples.reshape(4, -1).tolist(),
        weights=packed['weights'],
        labels=[],
    )
    script = f"""
    {(ASSETS / 'contents.js').read_text()}
    const image = {{...{json.dumps(seen)}, percents: new Map()}};
    const palette = [[200, 0, 0], [0, 200, 0], [0, 0, 200]];
    console.log(JSON.stringify([
      classesAt(image, 7, [0, 1, 2]).map((one) => one.share),
      [...meanColours(image, [0, 1, 2, 3], palette, 1).slice(28, 32)],
    ]));"""
    command = ['node', '-e', script]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    chosen = image.samples.reshape(4, -1)[:, 7]
    shares = np.bincount(chosen, image.sample_weights, 3)
    assert json.loads(said) == [
        shares.tolist(),
        [*(200 * shares).tolist(), 255],
    ]


def test_a_threshold_cuts_where_the_probability_does():
    image = explored(num_classes=3)
    image.class_probs[2] = 0.004  # not a percent anywhere
    packed = pack(image)
    assert set(packed['probs']) == {'0', '1'}
    for k, text in packed['probs'].items():
        shown = unpack(text).reshape(SIZE)
        for t in (1, 30, 50):
            inside = image.class_probs[int(k)] >= t / 100
            np.testing.assert_array_equal(shown >= t, inside)


def test_confidence_bins_are_those_of_the_reliability_diagram():
    image = explored(num_classes=3)
    image.class_probs[:, 0, 0] = (0, 0, 1)
    bins = unpack(pack(image, num_bins=15)['bins']).reshape(SIZE)
    assert bins[0, 0] == 14
    for place in [*np.ndindex(SIZE)][1:]:
        confidence = image.class_probs[(slice(None), *place)].max()
        assert bins[place] == int(float(confidence) * 15)


def test_boxplot_regions_are_bits():
    image = explored(samples=7)
    packed = pack(image)['boxplot']
    bits = unpack(packed['regions']).reshape(SIZE)
    box = image.boxplot
    for bit, region in enumerate(
        (box.inner_core, box.inner_union, box.outer_core, box.outer_union)
    ):
        np.testing.assert_array_equal(bits >> bit & 1, region.numpy())
    assert packed['median'] == box.median
    assert packed['outliers'] == list(box.outliers)
    assert pack(explored(num_classes=3))['boxplot'] is None


def test_large_images_are_shown_smaller_and_say_so():
    image = explored(num_classes=3, size=(30, 80))
    packed = pack(image, max_side=20)
    assert (packed['width'], packed['height']) == (20, 8)
    assert packed['full'] == [80, 30]
    decision, _, samples = unpack_maps(packed)
    assert decision.shape == (8, 20) and samples.shape == (5, 8, 20)
    rows = ((np.arange(8) + 0.5) * 30 / 8).astype(int)
    columns = ((np.arange(20) + 0.5) * 4).astype(int)
    np.testing.assert_array_equal(decision, image.decision[rows][:, columns])


def test_more_than_255_classes():
    image = explored(num_classes=300)
    packed = pack(image)
    assert packed['wide'] and packed['ignored'] == 65535
    decision, _, samples = unpack_maps(packed)
    np.testing.assert_array_equal(decision, image.decision)
    np.testing.assert_array_equal(samples, image.samples)
    assert unpack(pack_bytes(np.array([258], '>u2'))).tolist() == [2, 1]


def test_hypotheses_and_flips_in_words():
    image = explored(num_classes=3, samples=8, flips=((1, 2, 0.5),))
    packed = pack(image)
    shares = [one['probability'] for one in packed['hypotheses']]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    members = sorted(i for h in packed['hypotheses'] for i in h['members'])
    assert members == list(range(8))
    assert 'class ' in packed['hypotheses'][0]['words']
    assert packed['flips'][0]['source'] == 1
