# CamVid flips on the black box: mmcar's recipe on the F of calibration.py.
_base_ = [
    '../_base_/recipe.py',
    '../_base_/camvid_flips_48x64.py',
    '../../trained.py',
]
model = dict(
    decode_head=dict(
        _base_.camvid_head_trained,
        generator=dict(
            gumbel=dict(
                correlation_length=4.0, floor=0.02, groups=_base_.twins
            )
        ),
    ),
    test_cfg=dict(max_class_area=_base_.max_class_area),
    loss_samples=[
        dict(type='CalibrationLoss', loss_weight=5.0),
        dict(type='EnergyLoss', loss_weight=10.0),
    ],
)
