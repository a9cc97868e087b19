"""Keys that a config may have, beside the arguments of its classes."""

import inspect
import re
from collections.abc import Collection
from typing import Any

from mmengine.runner import LogProcessor, Runner, TestLoop, ValLoop
from torch.utils.data import DataLoader

from .config_parts import LOADERS
from .signatures import arguments_of

ALWAYS = {'type', '_scope_', '_delete_'}
# Keys beside the arguments of the class that a part becomes.
EXTRA = {
    'optim_wrapper': {'optimizer', 'paramwise_cfg', 'constructor'},
    'param_scheduler': {'convert_to_iter_based'},
    'train_cfg': {'by_epoch'},
    'default_hooks': {'priority'},
    'custom_hooks': {'priority'},
}
LOADER_HINTS = {
    **dict.fromkeys(arguments_of(DataLoader).names, Any),
    'batch_size': int | None,
    'num_workers': int,
    'persistent_workers': bool,
    'drop_last': bool,
    'pin_memory': bool,
    'shuffle': bool | None,
    'prefetch_factor': int | None,
    'num_batch_per_epoch': int | None,
    'disable_subprocess_warning': bool,
}
RUNNER_KEYS = {
    *arguments_of(Runner).names,
    'activation_checkpointing',
    'custom_imports',
    'efficient_conv_bn_eval',
    'find_unused_parameters',
    'model_wrapper_cfg',
    'runner_type',
    'sync_bn',
    'tta_model',
    'tta_pipeline',
}
# Names of variables that configs use by custom and that look like others.
CUSTOMARY = {'test_pipeline', 'val_pipeline', 'train_pipeline'}
DEFAULT_HOOKS = {
    'runtime_info',
    'timer',
    'sampler_seed',
    'logger',
    'param_scheduler',
    'checkpoint',
    'visualization',
}
# Dicts without a type: their keys, and whether there may be others.
PLAIN_DICTS: dict[str, tuple[Collection[str], bool]] = {
    'env_cfg': (
        {'cudnn_benchmark', 'mp_cfg', 'dist_cfg', 'resource_limit'},
        False,
    ),
    'randomness': (
        tuple(inspect.signature(Runner.set_randomness).parameters)[1:],
        False,
    ),
    'custom_imports': ({'imports', 'allow_failed_imports'}, False),
    'default_hooks': (DEFAULT_HOOKS, True),
    'auto_scale_lr': ({'enable', 'base_batch_size'}, False),
}
METAINFO_KEYS = {'classes', 'palette', 'class_flips', 'label_map'}
PREFIX_KEYS = {'img_path', 'seg_map_path'}
CLIP_KEYS = {
    'max_norm',
    'norm_type',
    'clip_value',
    'error_if_nonfinite',
    'foreach',
}
PARAMWISE_KEYS = {
    'custom_keys',
    'bias_lr_mult',
    'bias_decay_mult',
    'norm_decay_mult',
    'flat_decay_mult',
    'dwconv_decay_mult',
    'dcn_offset_lr_mult',
    'bypass_duplicate',
}
DICTS = (
    'model',
    *LOADERS,
    'train_cfg',
    'val_cfg',
    'test_cfg',
    'optim_wrapper',
    'log_processor',
    'visualizer',
    'default_hooks',
    'randomness',
)
LEVELS = ('CRITICAL', 'ERROR', 'WARNING', 'INFO', 'DEBUG', 'NOTSET')
LISTS = ('val_evaluator', 'test_evaluator', 'custom_hooks', 'param_scheduler')
UNTYPED = {
    'val_cfg': ValLoop,
    'test_cfg': TestLoop,
    'log_processor': LogProcessor,
}
# Dicts that stand for a class, which they have to name.
NEEDS_TYPE = re.compile(
    r'^model$|^(val|test)_evaluator(\[\d+\])?$|^custom_hooks\[\d+\]$'
    r'|^default_hooks\.\w+$|^param_scheduler\[\d+\]$|\.optimizer$'
    r'|_dataloader\.(.*\.)?dataset$|\.pipeline\[\d+\]$'
)
