#!/usr/bin/env bash
# Runs, on a machine with a GPU, what `ninja -C build gpu-pack` packed: every network's
# step against the oracle's recorded results, the examples' training, and its times next
# to PyTorch's and JAX's if Python has them. Builds nothing. Writes one JSON report.
#
#   tools/gpu-check.sh [FOLDER] [options of check.py: --report, --only, --check, --time, ...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$here
if [ ! -f "$folder/manifest.json" ]; then
  folder=$here/../build/gpu
fi
if [ $# -gt 0 ] && [ -d "$1" ]; then
  folder=$1
  shift
fi
if [ ! -f "$folder/manifest.json" ]; then
  echo "gpu-check: no manifest.json in $folder; fill it with 'ninja -C build gpu-pack'" >&2
  exit 2
fi
# A Python that has PyTorch, if there is one.
python=${MPT_PYTHON:-}
if [ -z "$python" ]; then
  for candidate in python3 /opt/torch/.venv/bin/python /opt/venv/bin/python /opt/conda/bin/python; do
    command -v "$candidate" >/dev/null || continue
    python=${python:-$candidate}
    if "$candidate" -c 'import torch' 2>/dev/null; then
      python=$candidate
      break
    fi
  done
fi
if [ -z "$python" ]; then
  echo "gpu-check: no python3 on the path" >&2
  exit 2
fi
exec "$python" "$folder/check.py" --folder "$folder" "$@"
