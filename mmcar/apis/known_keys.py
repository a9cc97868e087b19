"""Keys that a config may have, beside the arguments of its classes."""

import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from mmengine.runner import LogProcessor, Runner, TestLoop, ValLoop
from mmengine.utils.dl_utils.setup_env import set_multi_processing
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
    'batch_size': int,
    'num_workers': int,
    'persistent_workers': bool,
    'drop_last': bool,
    'pin_memory': bool,
    'shuffle': bool | None,
    'prefetch_factor': int | None,
    'num_batch_per_epoch': int | None,
    'disable_subprocess_warning': bool,
}
RUNNER_HINTS = arguments_of(Runner).hints
RUNNER_KEYS = {
    *RUNNER_HINTS,
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
#: All that somebody reads at the top level.
TOP_LEVEL = frozenset(RUNNER_KEYS | CUSTOMARY)
DEFAULT_HOOKS = {
    'runtime_info',
    'timer',
    'sampler_seed',
    'logger',
    'param_scheduler',
    'checkpoint',
    'visualization',
}
# Values of a config that are not arguments of a class.
PLAIN_VALUES: dict[str, Any] = {
    'sync_bn': typing.Literal['torch', 'mmcv'] | None,
    'find_unused_parameters': bool,
    'model_wrapper_cfg': Mapping,
    'tta_model': Mapping,
    'randomness.seed': int | None,
    'env_cfg.dist_cfg.backend': typing.Literal[
        (*torch.distributed.Backend.backend_list, 'cncl', 'hccl', 'mccl')
    ],
}
# Dicts without a type: their keys, and whether there may be others.
PLAIN_DICTS: dict[str, tuple[Mapping[str, Any], bool]] = {
    'env_cfg': (
        {
            'cudnn_benchmark': bool,
            'mp_cfg': dict,
            'dist_cfg': dict,
            'resource_limit': int,
        },
        False,
    ),
    'env_cfg.mp_cfg': (arguments_of(set_multi_processing).hints, False),
    'randomness': (
        {
            'seed': int | None,
            'diff_rank_seed': bool,
            'deterministic': bool,
        },
        False,
    ),
    'custom_imports': (
        {'imports': str | Sequence[str], 'allow_failed_imports': bool},
        False,
    ),
    'default_hooks': (dict.fromkeys(DEFAULT_HOOKS, dict | None), True),
    'auto_scale_lr': ({'enable': bool, 'base_batch_size': int}, False),
}
METAINFO_KEYS: dict[str, Any] = {
    'classes': str | Sequence[str],
    'palette': Sequence[Sequence[int]] | None,
    'class_flips': Sequence | None,
    'label_map': Mapping | None,
}
PREFIX_KEYS: dict[str, Any] = {'img_path': str, 'seg_map_path': str | None}
CLIP_KEYS: dict[str, Any] = {
    'type': str,
    'max_norm': float,
    'norm_type': float | str,
    'clip_value': float,
    'error_if_nonfinite': bool,
    'foreach': bool | None,
}
PARAMWISE_KEYS: dict[str, Any] = {
    'custom_keys': Mapping[str, Mapping],
    'bias_lr_mult': float,
    'bias_decay_mult': float,
    'norm_decay_mult': float,
    'flat_decay_mult': float,
    'dwconv_decay_mult': float,
    'dcn_offset_lr_mult': float,
    'bypass_duplicate': bool,
}
CUSTOM_KEYS: dict[str, Any] = {'lr_mult': float, 'decay_mult': float}
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
#: Settings that are lists of parts.
PART_LISTS = ('vis_backends', 'datasets', 'metrics', 'loss_samples')
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
    r'|\.vis_backends(\[\d+\])?$|^model_wrapper_cfg$|^visualizer$'
    r'|_dataloader\.(batch_)?sampler$'
)
