"""Runs a command where nothing of MPT's build is: run_alone.py FOLDER FILE HIDDEN,.. COMMAND ...

FOLDER and FILE are copied to a folder of their own, in which COMMAND runs, with the system's
path alone and without the folders HIDDEN: empty ones take their place."""
import os
import shutil
import subprocess
import sys
import tempfile

folder, file, hidden, *command = sys.argv[1:]
with tempfile.TemporaryDirectory() as place:
    shutil.copytree(folder, os.path.join(place, "pack"))
    shutil.copy(file, place)
    hide = " && ".join(f"mount -t tmpfs none '{path}'" for path in hidden.split(",") if os.path.isdir(path))
    first = hidden.split(",")[0]
    check = f"test -z \"$(ls -A '{first}')\""
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                           f"{hide} && {check} && cd '{place}' && exec env -i PATH=/usr/bin:/bin \"$@\"", "sh", *command])
sys.exit(done.returncode)
