_base_ = './car_deeplabv3_cityscapes24.py'
black_box = (
    'mmseg::segformer/segformer_mit-b2_8xb1-160k_cityscapes-1024x1024.py'
)
model = dict(decode_head=dict(black_box=dict(config=black_box)))
