# The same pickle in the split of PHiSeg and what is compared with it, made by
# tools/dataset_converters/lidc_pickle.py data_lidc.pickle \
#     data/lidc_pickle_60-20-20 --split 60:20:20
_base_ = './lidc_shapes.py'
converted = dict(dataset=dict(data_root='data/lidc_pickle_60-20-20'))
train_dataloader = converted
val_dataloader = converted
test_dataloader = converted
