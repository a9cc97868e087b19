# The mean of three F; row.py joins their weights. Nothing is trained.
_base_ = './_base_/f_center64.py'
model = dict(
    decode_head=dict(
        calibration=dict(
            _delete_=True,
            type='AveragedCalibration',
            net=_base_.model.decode_head.calibration,
            number=3,
        )
    )
)
custom_imports = dict(
    imports=[*_base_.custom_imports.imports, 'projects.lidc.lidc.averaged']
)
train_cfg = dict(phases=[dict(iters=1, train=['calibration'])])
