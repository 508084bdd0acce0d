# Checks how runs ended, by the last 20 steps: check_losses.py FILE WHAT [FILE WHAT...]
#   below=X   the mean loss is below X
#   above=X   the mean loss is a number above X
#   lost      the loss scaler skipped every step
# FILE:RUN means one run of --compare.
import json
import math
import sys

for where, what in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    path, _, run = where.partition(":")
    lines = [line for line in map(json.loads, open(path)) if "loss" in line]
    lines = [line for line in lines if line.get("run", "") == run][-20:]
    mean = sum(float(line["loss"]) for line in lines) / 20
    kind, _, bound = what.partition("=")
    ok = (kind == "lost" and not any(line["did_step"] for line in lines)
          or kind == "below" and mean < float(bound)
          or kind == "above" and math.isfinite(mean) and mean > float(bound))
    assert len(lines) == 20 and ok, (where, what, mean)
