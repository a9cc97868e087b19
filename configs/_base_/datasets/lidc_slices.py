# Real CT, 128x128 around a nodule, four annotators; made by
# tools/dataset_converters/lidc_slices.py LIDC-IDRI-slices.tar.gz \
#     data/lidc_slices
# Patients, not slices, are split: by their ids, without a list.
_base_ = './lidc_shapes.py'
converted = dict(dataset=dict(data_root='data/lidc_slices'))
train_dataloader = converted
val_dataloader = converted
test_dataloader = converted
# To choose settings on training patients alone, with
# `_base_.choose_train` and `_base_.choose_val` in place of the two.
choose_train = dict(dataset=dict(ann_file='choose_train.txt'))
choose_val = dict(
    dataset=dict(ann_file='choose_val.txt', data_prefix=_base_.train_files)
)
