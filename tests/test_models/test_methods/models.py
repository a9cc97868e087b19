"""Small configs of every method, all on the same net."""

import copy

from tests.toys import toy_config, toy_parts

CONV = dict(type='ConvCalibration', channels=4, dropout=0.0)
# An MMSeg backbone with strides, and a decode head with dropout.
PARTS = toy_parts(concat_input=False, dropout_ratio=0.5)
MMSEG = dict(type='MMSegCalibration', **PARTS)
SHARED = dict(
    data_preprocessor=toy_config()['data_preprocessor'],
    test_cfg=dict(num_samples=4, samples_per_chunk=3),
)
HEAD = dict(type='CARHead', num_classes=2, calibration=MMSEG)
GUMBEL, ARGMAX = dict(type='GumbelSampler'), dict(type='ArgmaxSampler')
UNET = dict(type='RefinementUNet', noise_size=3, base_channels=4, depth=2)
RANKED = dict(type='RankedGenerator', generator=UNET)
TRAINING_FREE = dict(
    type='CARSegmentor', decode_head=dict(HEAD, generator=GUMBEL), **SHARED
)
ON_NET = dict(num_classes=2, net=MMSEG, features=6, **SHARED)
METHODS = dict(
    ssn=dict(
        ON_NET, type='StochasticSegmentationNetwork', rank=3, train_samples=5
    ),
    prob_unet=dict(
        ON_NET,
        type='ProbabilisticUNet',
        latent_size=3,
        encoder_channels=(4, 6),
        encoder_convs=2,
    ),
    mc_dropout=dict(
        type='MCDropout', decode_head=dict(HEAD, generator=ARGMAX), **SHARED
    ),
    deep_ensemble=dict(
        type='DeepEnsemble', member=TRAINING_FREE, num_members=2
    ),
    views=dict(type='TTASegmentor', model=TRAINING_FREE, symmetries='square'),
)
FLOW = dict(CONV, in_channels=5, num_blocks=2, norm_cfg=None)
METHODS.update(
    flow_ssn=dict(type='FlowSSN', model=TRAINING_FREE, net=FLOW, steps=3),
    flow_on_ssn=dict(type='FlowSSN', model=METHODS['ssn'], net=FLOW, steps=3),
    exact_margins=dict(type='ExactMargins', model=METHODS['ssn']),
    ranked_car=toy_config(
        decode_head=dict(HEAD, generator=RANKED),
        discriminator=None,
        loss_samples=[dict(type='EnergyLoss')],
        test_cfg=SHARED['test_cfg'],
    ),
)
METHODS = copy.deepcopy(METHODS)
NETWORKS = dict(
    ssn=['net'],
    prob_unet=['net'],
    mc_dropout=['calibration'],
    deep_ensemble=['calibration_0', 'calibration_1'],
    views=['calibration'],
    flow_ssn=['calibration', 'flow'],
    flow_on_ssn=['net', 'flow'],
    exact_margins=['net'],
    ranked_car=['calibration', 'generator'],
)
