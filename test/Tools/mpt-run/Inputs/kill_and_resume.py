# Starts a command that checkpoints to FILE, kills it with SIGKILL N times, then
# lets it finish. Kills fall into a write of the checkpoint or somewhere later, in
# turn.
#   kill_and_resume.py N FILE COMMAND...
import os
import random
import subprocess
import sys
import time

count, checkpoint, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
rng = random.Random(7)
killed = 0
for kill in range(count):
    before = os.stat(checkpoint).st_mtime_ns if os.path.exists(checkpoint) else 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.time() + 60
    while process.poll() is None and time.time() < deadline:
        if os.path.exists(checkpoint) and os.stat(checkpoint).st_mtime_ns != before:
            break
        time.sleep(0.0005)
    time.sleep(rng.uniform(0, 0.002 if kill % 2 else 0.02))
    if process.poll() is None:
        process.kill()
        killed += 1
    process.wait()
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
# A run that always ends before it is killed tests nothing.
assert killed > 0
