"""Data of the character LSTM: make_data.py FOLDER.

Windows of 32 characters of the source of Python's standard library, as of the gpt
example.
"""

import os
import subprocess
import sys

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpt", "make_data.py")
    subprocess.run([sys.executable, maker, sys.argv[1], "--context=32"], check=True)
