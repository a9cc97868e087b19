_base_ = './ct.py'
model = dict(decode_head=dict(generator=dict(type='LatentUNet')))
