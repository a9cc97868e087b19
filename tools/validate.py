"""Try a config out without training: what would happen, or what is wrong."""

import argparse

from mmcar import cli
from mmcar.apis.dry_run import dry_run


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Try the config."""
    args = parse_args()
    cfg = cli.load_config(args)
    with cli.naming_config(args.config):
        print(dry_run(cfg))


if __name__ == '__main__':
    cli.run_tool(main)
