"""Starts processes with the environment that torchrun gives them.

  torchrun.py [--gpus=LIST] [--kill=RANK:FILE:LINES] N PROGRAM...

Each has RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. With --gpus=1,0, rank 0 sees GPU
1 alone and rank 1 GPU 0 (CUDA_VISIBLE_DEVICES). With --kill, rank RANK is killed (SIGKILL) when
FILE has LINES lines. Unlike torchrun's, the others then go on. Exits with the
largest status of all that were not killed, or with 99 if one still runs after 100 s.
"""
import os
import pathlib
import socket
import subprocess
import sys
import time


def find_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    arguments, victim, file, lines = sys.argv[1:], None, None, 0
    gpus = None
    if arguments[0].startswith("--gpus="):
        gpus = arguments.pop(0).split("=", 1)[1].split(",")
    if arguments[0].startswith("--kill="):
        rank, file, count = arguments.pop(0).split("=", 1)[1].split(":")
        victim, file, lines = int(rank), pathlib.Path(file), int(count)
    ranks, command = int(arguments[0]), arguments[1:]
    common = dict(os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=str(find_port()))
    processes = []
    for rank in range(ranks):
        own = dict(common, RANK=str(rank), LOCAL_RANK=str(rank))
        if gpus:
            own["CUDA_VISIBLE_DEVICES"] = gpus[rank]
        processes.append(subprocess.Popen(command, env=own))
    end = time.monotonic() + 100
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        if file and file.exists() and len(file.read_text().splitlines()) >= lines:
            processes[victim].kill()
            file = None
        time.sleep(0.02)
    late = [process for process in processes if process.poll() is None]
    for process in late:
        process.kill()
    sys.exit(99 if late else max(abs(process.returncode) for rank, process in enumerate(processes)
                                 if rank != victim))


if __name__ == "__main__":
    main()
