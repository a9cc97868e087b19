_base_ = './cvae-gan-cal_lidc.py'
model = dict(
    loss_samples=[dict(type='ELBOLoss', beta=10, loss_weight=5.0)],
    train_cfg=dict(num_samples=1),
)
