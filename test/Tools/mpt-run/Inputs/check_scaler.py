"""Checks a run with skipped steps: check_scaler.py METRICS CHECKPOINTS INTERVAL.

The scale of every step must be what torch.amp.GradScaler would have; and
CHECKPOINTS-N.safetensors, the state after N steps, must be bit-equal over a
skipped step but for the attempt count and the scale.
"""

import json
import struct
import sys


def load(path):
    """Tensors of a safetensors file, as bytes by name."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    return {name: data[slice(*entry["data_offsets"])]
            for name, entry in header.items() if name != "__metadata__"}


def main(metrics, checkpoints, interval):
    with open(metrics) as file:
        steps = [json.loads(line) for line in file]
    steps = [s for s in steps if "loss" in s]
    # GradScaler's update of scale and growth tracker.
    scale, tracker, skipped = 16.0, 0, 0
    for number, step in enumerate(steps, 1):
        after = load(f"{checkpoints}-{number}.safetensors")
        # There is no file of the state before the first step.
        before = load(f"{checkpoints}-{number - 1}.safetensors") if number > 1 else {}
        found_inf = bool(step["found_inf"])
        same = [n for n in before if before[n] == after[n]]
        moving = {"attempt", "loss_scale", "loss_scale.growth_tracker"}
        if found_inf:
            skipped += 1
            scale, tracker = scale * 0.5, 0
            changed = set(before) - set(same) - moving
            assert not changed, f"step {number} was skipped but changed {changed}"
        else:
            tracker += 1
            if tracker == interval:
                scale, tracker = scale * 2.0, 0
            assert "w" not in same and "step" not in same, f"step {number} changed nothing"
        assert "attempt" not in same, f"step {number} did not count as an attempt"
        assert bool(step["did_step"]) != found_inf
        (found,) = struct.unpack("<f", after["loss_scale"])
        assert found == scale, f"step {number}: scale {found}, GradScaler has {scale}"
        (found,) = struct.unpack("<i", after["loss_scale.growth_tracker"])
        assert found == tracker, f"step {number}: tracker {found}, GradScaler has {tracker}"
    assert 3 <= skipped < len(steps) - 6, f"{skipped} of {len(steps)} steps skipped"


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
