"""Runs a script of this folder and exits with its code: run.py SCRIPT ARGUMENTS…

Skips the interpreter's shutdown, during which pyarrow's threads sometimes abort the process ("terminate called without an active
exception").
"""

import os
import runpy
import sys
import traceback


def code_of(script):
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    code = code_of(sys.argv[0])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
