"""Data of the residual network: make_data.py FOLDER. Those of the digits example."""

import os
import subprocess
import sys

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits", "make_data.py")
    subprocess.run([sys.executable, maker, sys.argv[1]], check=True)
