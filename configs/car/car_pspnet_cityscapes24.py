_base_ = './car_deeplabv3_cityscapes24.py'
black_box = 'mmseg::pspnet/pspnet_r50-d8_4xb2-80k_cityscapes-512x1024.py'
model = dict(decode_head=dict(black_box=dict(config=black_box)))
