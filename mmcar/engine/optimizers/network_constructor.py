"""One optimiser per network."""

from mmengine.optim import OptimWrapperDict, build_optim_wrapper
from mmseg.registry import OPTIM_WRAPPER_CONSTRUCTORS
from torch import nn

from ...utils.errors import UserError
from ..distributed import unwrap_model


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class NetworkOptimWrapperConstructor:
    """Builds an ``OptimWrapperDict`` with a wrapper for each named network.

    Each value is a usual ``optim_wrapper`` config: ``optimizer``, and where
    wanted ``type``, ``paramwise_cfg``, ``clip_grad``, ``accumulative_counts``.

    Args:
        optim_wrapper_cfg: Network name -> config of its optimiser wrapper;
            None takes away the one of a base config.
        paramwise_cfg: Must be None; it belongs into a network's config.

    Example:
        >>> optim_wrapper = dict(
        ...     constructor='NetworkOptimWrapperConstructor',
        ...     generator=dict(optimizer=dict(type='Adam', lr=2e-4)),
        ...     discriminator=dict(optimizer=dict(type='Adam', lr=1e-5)))
    """

    def __init__(
        self, optim_wrapper_cfg: dict, paramwise_cfg: dict | None = None
    ) -> None:
        if paramwise_cfg is not None:
            raise UserError(
                f'optim_wrapper.paramwise_cfg={paramwise_cfg!r} names no '
                'network: put it into the config of one, e.g. '
                'optim_wrapper.generator.paramwise_cfg.'
            )
        self.cfg = {
            name: cfg
            for name, cfg in optim_wrapper_cfg.items()
            if cfg is not None
        }

    def __call__(self, model: nn.Module) -> OptimWrapperDict:
        """Build the wrappers for a model with ``networks()``."""
        networks = unwrap_model(model).networks()
        for name, cfg in self.cfg.items():
            if name not in networks:
                raise UserError(
                    f'optim_wrapper.{name}={cfg!r}, but {name!r} is not a '
                    f'trainable network of the model; it has '
                    f'{list(networks)}. Keys that a base config leaves here '
                    'go away with optim_wrapper=dict(_delete_=True, ...).'
                )
            if not isinstance(cfg, dict) or 'optimizer' not in cfg:
                raise UserError(
                    f'optim_wrapper.{name} must be a dict with the key '
                    f"'optimizer', got {cfg!r}."
                )
            keys = (cfg.get('paramwise_cfg') or {}).get('custom_keys') or {}
            own = [weight for weight, _ in networks[name].named_parameters()]
            if keys and not any(
                key in weight for key in keys for weight in own
            ):
                raise UserError(
                    f'optim_wrapper.{name}.paramwise_cfg.custom_keys='
                    f'{dict(keys)!r}: no parameter of the network is called '
                    f'so; the first is {[*own, None][0]!r}.'
                )
        return OptimWrapperDict(
            **{
                name: build_optim_wrapper(networks[name], cfg)
                for name, cfg in self.cfg.items()
            }
        )
