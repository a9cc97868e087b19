"""Small configs of every method, all on the same net."""

import copy

from tests.toys import toy_config

CONV = dict(type='ConvCalibration', channels=4, dropout=0.0)
# An MMSeg backbone with strides, and a decode head with dropout.
MMSEG = dict(
    type='MMSegCalibration',
    backbone=dict(
        type='UNet',
        base_channels=4,
        num_stages=2,
        strides=(1, 1),
        enc_num_convs=(1, 1),
        dec_num_convs=(1,),
        downsamples=(True,),
        enc_dilations=(1, 1),
        dec_dilations=(1,),
    ),
    decode_head=dict(
        type='FCNHead',
        in_channels=4,
        in_index=1,
        channels=4,
        num_convs=1,
        concat_input=False,
        dropout_ratio=0.5,
    ),
)
SHARED = dict(
    data_preprocessor=toy_config()['data_preprocessor'],
    test_cfg=dict(num_samples=4, samples_per_chunk=3),
)
TRAINING_FREE = dict(
    type='CARSegmentor',
    decode_head=dict(
        type='CARHead',
        num_classes=2,
        calibration=MMSEG,
        generator=dict(type='GumbelSampler'),
    ),
    **SHARED,
)
METHODS = dict(
    ssn=dict(
        type='StochasticSegmentationNetwork',
        num_classes=2,
        net=MMSEG,
        features=6,
        rank=3,
        train_samples=5,
        **SHARED,
    ),
    prob_unet=dict(
        type='ProbabilisticUNet',
        num_classes=2,
        net=MMSEG,
        features=6,
        latent_size=3,
        encoder_channels=(4, 6),
        encoder_convs=2,
        **SHARED,
    ),
    mc_dropout=dict(
        TRAINING_FREE,
        type='MCDropout',
        decode_head=dict(
            TRAINING_FREE['decode_head'], generator=dict(type='ArgmaxSampler')
        ),
    ),
    deep_ensemble=dict(
        type='DeepEnsemble',
        member={k: v for k, v in TRAINING_FREE.items() if k != 'test_cfg'},
        num_members=2,
        test_cfg=SHARED['test_cfg'],
    ),
    views=dict(
        type='TTASegmentor',
        model=TRAINING_FREE,
        symmetries='square',
        test_cfg=SHARED['test_cfg'],
    ),
)
FLOW = dict(
    type='ConvCalibration',
    in_channels=5,
    channels=4,
    num_blocks=2,
    dropout=0.0,
    norm_cfg=None,
)
METHODS.update(
    flow_ssn=dict(type='FlowSSN', model=TRAINING_FREE, net=FLOW, steps=3),
    flow_on_ssn=dict(type='FlowSSN', model=METHODS['ssn'], net=FLOW, steps=3),
    exact_margins=dict(type='ExactMargins', model=METHODS['ssn']),
    ranked_car=toy_config(
        decode_head=dict(
            TRAINING_FREE['decode_head'],
            generator=dict(
                type='RankedGenerator',
                generator=dict(
                    type='RefinementUNet',
                    noise_size=3,
                    base_channels=4,
                    depth=2,
                ),
            ),
        ),
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
