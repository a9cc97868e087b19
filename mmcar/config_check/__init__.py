"""Is a config right? A walk, signatures, rules, a build and a preflight."""

from .build import Trace
from .findings import RULES, ConfigError, Finding
from .plan import Plan
from .preflight import Preflight, judge
from .rules import check_config
