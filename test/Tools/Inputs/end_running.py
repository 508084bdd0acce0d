"""Runs gpu-check until its report says that a check is under way, and ends it: end_running.py SIGNAL
REPORT SCRIPT PROCESSES COMMAND ... Waits until there are so many processes of SCRIPT. Prints what was under
way, and how many of them are left."""
import json
import os
import signal
import subprocess
import sys
import time

number, report, script, processes, *command = sys.argv[1:]


def running():
    try:
        with open(report) as file:
            return json.load(file)["running"]
    except (OSError, ValueError):
        return None


def count():
    found = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                found += script.encode() in file.read().split(b"\0") and int(process) != os.getpid()
        except OSError:
            pass
    return found


if os.path.exists(report):
    os.remove(report)
child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
while running() is None and child.poll() is None:
    time.sleep(0.05)
# The check itself has begun, too.
while count() < int(processes) and child.poll() is None:
    time.sleep(0.05)
child.send_signal(signal.Signals[number])
child.wait()
until = time.monotonic() + 60
while count() and time.monotonic() < until:
    time.sleep(0.05)
print("was under way:", running(), "left:", count())
