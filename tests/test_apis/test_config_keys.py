import pytest
from mmengine.config import Config

from mmcar.apis.config_keys import check_keys
from mmcar.utils.errors import UserError


@pytest.mark.parametrize(
    ('cfg', 'words'),
    [
        (dict(optim_wraper=dict()), "optim_wraper: .* 'optim_wrapper'"),
        (
            dict(custom_hooks=[dict(type='R1Hook', wieght=1.0)]),
            r"custom_hooks\[0\].wieght: R1Hook .* 'weight'",
        ),
        (
            dict(custom_hooks=[dict(type='R1Hook', weight='1')]),
            r"custom_hooks\[0\].weight='1': expected float, got str",
        ),
        (
            dict(custom_hooks=[dict(type='R1')]),
            r"custom_hooks\[0\].type='R1' .* 'R1Hook'",
        ),
        (
            dict(default_hooks=dict(checkpoint='SafeCheckpointHook')),
            'default_hooks.checkpoint=.*expected a dict',
        ),
        (dict(model='car'), "model='car': expected a dict"),
        (dict(log_level='LOUD'), "log_level='LOUD'"),
    ],
)
def test_refused(cfg, words):
    with pytest.raises(UserError, match=words):
        check_keys(Config(cfg))


def test_a_sink_for_arguments_still_knows_its_names():
    """CheckpointHook ignores what it does not know; close names are typos."""
    hook = dict(type='CheckpointHook', interval=1)
    check_keys(Config(dict(default_hooks=dict(checkpoint=hook))))
    hook['intervall'] = 2
    with pytest.raises(UserError, match=r"intervall: .* 'interval'"):
        check_keys(Config(dict(default_hooks=dict(checkpoint=hook))))


def test_dicts_of_arguments_need_no_type():
    dataset = dict(
        type='MultiAnnotatorDataset',
        backend_args=dict(backend='local'),
        pipeline=[dict(type='LoadCheckedImage')],
    )
    loader = dict(dataset=dataset, sampler=dict(type='DefaultSampler'))
    check_keys(Config(dict(val_dataloader=loader)))
