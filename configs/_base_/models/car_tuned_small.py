# For an F that errs more than annotators differ: G is the training-free
# sampler on a net like F, to be started from F's weights, and the losses of
# samples tune that net. F stays beside it as it was trained. L_cal would hold
# samples to F's errors, and D has no effect next to these losses. The net's
# config is a copy: whoever changes F's changes both.
_base_ = './car_recipe_small.py'
model = dict(
    decode_head=dict(
        generator=dict(
            _delete_=True,
            type='TunedSampler',
            net={{_base_.model.decode_head.calibration}},
            temperature=0.1,
        ),
    ),
    discriminator=None,
    loss_samples=[
        dict(type='EnergyLoss', loss_weight=1.0, smooth=0.1),
        dict(type='MatchingLoss', loss_weight=1.0, smooth=0.1),
    ],
)
