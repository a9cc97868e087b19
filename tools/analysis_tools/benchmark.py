"""Time parts of mmcar against plain versions of them, in one run.

Each subcommand is a module beside this file with ``add_arguments(parser)``
and ``run(args) -> list[dict]``, the rows of its table.
"""

import argparse
import json

import benchmark_data
import benchmark_metrics

SUBCOMMANDS = {'data': benchmark_data, 'metrics': benchmark_metrics}


def main() -> None:
    """Run a subcommand, print its rows, write them to a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    for name, module in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=module.__doc__.split('\n')[0])
        command.add_argument('--json', help='write the rows to this file')
        module.add_arguments(command)
    args = parser.parse_args()
    rows = SUBCOMMANDS[args.command].run(args)
    if args.json:
        with open(args.json, 'w') as file:
            json.dump(rows, file, indent=2)


if __name__ == '__main__':
    main()
