"""Builds the parts of a plan of Taco Studio as tasks of a Dask cluster. Needs the package `distributed` only.

    python taco_plan.py --scheduler tcp://host:8786 --parts 1-40 -- taco-studio --quiet plan run PLAN

Each task starts the command with `--part K` in a process on its worker. A task that fails, or whose worker is killed, is tried again;
a part that is written already is skipped by the command itself. Prints one line of JSON for each part that ended, and ends with 1 when
a part failed. `taco-studio plan submit --engine dask` calls this file.
"""

import argparse
import json
import sys

from distributed import Client, as_completed


def build(command, part):
    """Builds one part in a process of the worker; an error has what the process said."""
    import os
    import subprocess

    environment = dict(os.environ, TACO_STUDIO_JOB=f"dask {part}")
    ran = subprocess.run(
        [*command, "--part", str(part)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=environment
    )
    # 1 is for damaged samples that were copied.
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"exit code {ran.returncode}: {ran.stderr.strip()[-2000:]}")
    return part


def numbers(text):
    """The numbers of `1-3,7`."""
    found = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", required=True, help="address of the scheduler")
    parser.add_argument("--parts", required=True, type=numbers, help="numbers of the parts, as 1-3,7")
    parser.add_argument("--tries", type=int, default=3, help="times that a part is tried")
    parser.add_argument("command", nargs="+", help="the command that builds a part, without --part")
    arguments = parser.parse_args()
    failed = 0
    with Client(arguments.scheduler, timeout="30s") as client:
        tasks = {
            client.submit(build, arguments.command, part, key=f"taco-part-{part}", retries=arguments.tries - 1, pure=False): part
            for part in arguments.parts
        }
        for task in as_completed(tasks):
            ended = {"part": tasks[task]}
            if task.status != "finished":
                failed += 1
                ended["error"] = str(task.exception() if task.status == "error" else task.status)
            print(json.dumps(ended), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
