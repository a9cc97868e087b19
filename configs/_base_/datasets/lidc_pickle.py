# The pickle of the PyTorch Probabilistic U-Net, converted by
# tools/dataset_converters/lidc_pickle.py data_lidc.pickle data/lidc_pickle
_base_ = './lidc_shapes.py'
data_root = 'data/lidc_pickle'
train_dataloader = dict(dataset=dict(data_root=data_root))
val_dataloader = dict(dataset=dict(data_root=data_root))
test_dataloader = dict(dataset=dict(data_root=data_root))
