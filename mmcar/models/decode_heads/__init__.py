"""The head of CAR."""

from .car_head import CARHead
