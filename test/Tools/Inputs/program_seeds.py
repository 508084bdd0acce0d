"""program_seeds.py FUZZ_SEEDS DIR MPT_OPT MPT_COMPILE: the seeds of the program fuzzers are
those of all programs, of which some are alike."""

import importlib.util
import pathlib
import sys

spec = importlib.util.spec_from_file_location("fuzz_seeds", sys.argv[1])
fuzz_seeds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz_seeds)
out = pathlib.Path(sys.argv[2])
fuzz_seeds.write_programs(out, *sys.argv[3:])
tables = [path.read_bytes() for path in (out / "program").iterdir()]
# What each kind of step has: its own optimizer's state, or none.
for word in (b"exp_avg", b"loss_scale"):
    assert any(word in table for table in tables), f"no program has {word}"
assert len(tables) > 10, f"{len(tables)} tables"
assert sorted(path.name for path in out.iterdir()) == ["program", "program-file"]
print("all programs are seeds")
