# The pickle of the PyTorch Probabilistic U-Net, converted by
# tools/dataset_converters/lidc_pickle.py data_lidc.pickle data/lidc_pickle
_base_ = './lidc_shapes.py'
converted = dict(dataset=dict(data_root='data/lidc_pickle'))
train_dataloader = converted
val_dataloader = converted
test_dataloader = converted
