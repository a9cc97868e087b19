_base_ = './faithful.py'
model = dict(
    loss_cal=dict(_delete_=True, type='SampleCrossEntropy', loss_weight=5.0),
    train_cfg=dict(num_samples=1),
)
