"""Losses of samples: names, needs, and losses that users write."""

from mmseg.registry import MODELS
from torch import nn

from tests.toys import toy_batch, toy_model, toy_optims


@MODELS.register_module()
class MeanConfidence(nn.Module):
    """A loss as a user may write it: it says nothing of itself."""

    def forward(self, batch):
        return (1 - batch.samples.amax(2)).mean() + 0 * batch.log_probs.mean()


def test_losses_of_one_type_add_up_and_are_logged_apart():
    once = dict(type='CalibrationLoss', loss_weight=2.0)
    model = toy_model(loss_samples=[once, once, dict(once, loss_weight=1.0)])
    data = model.data_preprocessor(toy_batch(), True)
    batch = model.train_batch(*data.values(), seed=(0,))
    losses = model.eval().losses('generator', batch)
    names = ['loss_cal', 'loss_cal_2', 'loss_cal_3']
    assert [name for name in losses if 'cal' in name] == names
    first, second, third = (losses[name] for name in names)
    assert first == second == 2 * third > 0


def test_a_loss_that_says_nothing_of_itself_works():
    model = toy_model(loss_samples=dict(type='MeanConfidence'))
    optims = dict(generator=toy_optims(model)['generator'])
    log = model.train_step(toy_batch(), optims)
    assert log['loss_MeanConfidence'] > 0
