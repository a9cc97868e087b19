"""Is a config right? A walk, signatures, rules, a build and a preflight."""

from .build import Trace
from .check import check_config, page
from .findings import ConfigError, Finding
from .plan import Plan
from .preflight import Preflight, judge

__all__ = ['ConfigError', 'Finding', 'Plan', 'Preflight', 'Trace']
__all__ += ['check_config', 'judge', 'page']
