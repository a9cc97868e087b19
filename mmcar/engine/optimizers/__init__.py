"""One optimiser per network."""

from .network_constructor import NetworkOptimWrapperConstructor

__all__ = ['NetworkOptimWrapperConstructor']
