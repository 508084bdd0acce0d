"""Runs `python -m mpt.export` for several commands, in one process: each argument is one.
Prints the message of those that fail."""
import sys

import mpt.export

for command in sys.argv[1:]:
    try:
        mpt.export.main(command.split())
        print("exported")
    except SystemExit as status:
        print(status)
