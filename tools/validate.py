"""Try a config out without training: what would happen, or what is wrong.

Errors and warnings come with the name of their rule, see docs/lookup/rules.md.
"""

import argparse
import re
import sys

from mmcar import cli
from mmcar.apis.training import dry_run
from mmcar.config_check import RULES

PAGE = """# Rules

Written by `python tools/validate.py --rules`. What else is raised while parts
are built or tried is an error named `build` or `preflight`.

| rule | level | what it finds |
|---|---|---|
"""


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_check_arguments(parser)
    parser.add_argument(
        '--rules', action='store_true', help='print the page of rules and stop'
    )
    return parser.parse_args()


def page() -> str:
    """The page of rules, for the docs: how their docstrings begin."""
    rows = []
    for rule in sorted(RULES, key=lambda rule: rule.name):
        text = ' '.join(rule.check.__doc__.split())
        first, *more = re.split(r'(?<=\.) (?=[A-Z])', text)
        more = [text for text in more if text.startswith('A warning')]
        level = 'error' if rule.sure else 'warning'
        rows.append(
            f'| `{rule.name}` | {level} | {" ".join((first, *more))} |'
        )
    return PAGE + '\n'.join(rows).replace('``', '`')


def main() -> None:
    """Try the config."""
    if '--rules' in sys.argv:  # needs no config
        print(page())
        return
    args = parse_args()
    cfg = cli.load_config(args)
    with cli.naming_config(args.config):
        if args.check:
            print(dry_run(cfg, args.strict))


if __name__ == '__main__':
    cli.run_tool(main)
