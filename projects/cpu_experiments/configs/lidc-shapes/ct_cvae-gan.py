_base_ = './ct_cvae-gan-cal.py'
model = dict(
    loss_samples=[dict(type='ELBOLoss', beta=1.0, loss_weight=5.0)],
    train_cfg=dict(num_samples=1),
)
