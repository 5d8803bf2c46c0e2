"""The program: ``python -m taco_studio``, or ``taco-studio`` where the package is installed."""

import sys

from ._taco_studio import run_program


def main() -> int:
    """Runs the window, or the command that the arguments name."""
    return run_program(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
