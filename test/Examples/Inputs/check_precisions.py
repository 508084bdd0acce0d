# Checks a run of several precisions: check_precisions.py METRICS BELOW SPREAD.
# Of each, the mean loss of the last 5 steps must be below BELOW, and differ from
# f32's by at most SPREAD: what the seed alone changes of it in f32.
import collections
import json
import sys

path, below, spread = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
losses = collections.defaultdict(list)
for record in map(json.loads, open(path)):
    if "loss" in record:
        losses[record["run"]].append(float(record["loss"]))
means = {run: sum(values[-5:]) / 5 for run, values in losses.items()}
print(means)
assert list(means) == ["f32", "bf16", "f16:static init-scale=1024", "f16"], means
assert all(mean < below for mean in means.values())
assert all(abs(mean - means["f32"]) <= spread for mean in means.values())
# The narrow types are there: they round, and so change the loss a little.
assert len(set(means.values())) > 1
