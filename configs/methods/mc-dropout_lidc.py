# MC dropout behind the two deepest levels of the encoder.
_base_ = '../_base_/method_lidc.py'
model = dict(
    _base_.training_free,
    type='MCDropout',
    dropout_after=['backbone.encoder.3', 'backbone.encoder.4'],
    dropout=0.5,
    decode_head=dict(
        _base_.training_free.decode_head,
        generator=dict(type='ArgmaxSampler'),
    ),
)
optim_wrapper = dict(calibration=_base_.method_optim)
train_cfg = dict(
    phases=[dict(iters=_base_.method_iters, train=['calibration'])]
)
