"""Times the start of the window up to its first frame, beside the import of the official reader in Python, and what the idle window
costs. Drawn in software, on the display that DISPLAY names, in a home of its own."""

import os
import statistics
import subprocess
import sys
import time

FIRST_FRAME_MS = 400.0
IDLE_CPU_S = 0.5
SETTLE_S = 5.0


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        columns = file.read().rsplit(")", 1)[1].split()
    return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")


def start(program, home):
    """The program with its window, and the milliseconds up to the line that says that the first frame is shown."""
    environment = {**os.environ, "HOME": str(home), "NO_COLOR": "1"}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "RUST_LOG", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    began = time.monotonic()
    running = subprocess.Popen([program, "-v"], env=environment, stderr=subprocess.PIPE, text=True)
    for line in running.stderr:
        if "the first frame is shown" in line:
            return running, (time.monotonic() - began) * 1000
    raise SystemExit(f"the window did not open; the program ended with {running.wait()}")


def bench_start(program, work, repeats, sizes, report):
    home = work / "home"
    home.mkdir(exist_ok=True)
    times, imports = [], []
    # The first start finds nothing in the page cache and no settings; it does not count.
    for _ in range(repeats + 1):
        running, milliseconds = start(program, home)
        times.append(milliseconds)
        running.kill()
        running.wait()
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "import tacoreader"], check=True)
        imports.append((time.monotonic() - began) * 1000)
    each = " ".join(f"{milliseconds:.0f}" for milliseconds in times)
    report.print_figures(f"\nStart to the first frame, in ms ({each}); import of the reader {statistics.median(imports[1:]):.0f} ms")
    report.compare_runs("start, first frame / import of tacoreader", times[1:], imports[1:])
    report.check_limit("start to the first frame: ms", statistics.median(times[1:]), "at most", FIRST_FRAME_MS)
    if sizes.idle_seconds == 0:
        return
    running, _ = start(program, home)
    time.sleep(SETTLE_S)
    before = processor_seconds(running.pid)
    time.sleep(sizes.idle_seconds)
    cost = processor_seconds(running.pid) - before
    running.kill()
    running.wait()
    report.check_limit(f"idle for {sizes.idle_seconds:.0f} s: processor seconds", cost, "at most", IDLE_CPU_S)
