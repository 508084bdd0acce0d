"""Holds each built-in policy to the YAML file that the build makes it from.

    check_presets.py MPT_OPT MODULE FILE.yaml...

The built-in policy and a copy of its file are dumped: all that the file says must be the
same in both, and all else too where it extends another policy. Where it extends none, its
copy extends the default one.
"""
import pathlib
import re
import subprocess
import sys


def drop_repeats(match):
    return str(list(dict.fromkeys(match[0].strip("[]").split(", "))))


def dump(opt, module, policy, low):
    """The exit status, and what the dump says for each key."""
    option = f"--mpt-dump-policy=policy={policy} {low} dialects=mpt,torch,tf,stablehlo"
    run = subprocess.run([opt, module, option, "-o", "-"], capture_output=True, text=True)
    entries, key = {}, None
    for line in run.stderr.splitlines():
        line = re.sub(r"\[.*\]", drop_repeats, re.sub(" *#.*", "", line))
        if re.match(r"[a-z]\S*:", line):
            key = line.split(":")[0]
            entries[key] = []
        if key:
            entries[key].append(line)
    return run.returncode, entries


opt, module, *files = sys.argv[1:]
for path in map(pathlib.Path, files):
    text = path.read_text()
    copy = pathlib.Path("copy.yaml")
    copy.write_text(re.sub("(?m)^policy: .*", "policy: copy", text))
    said = set(re.findall(r"(?m)^([a-z]\S*):", text))
    assert len(said) > 1
    # A policy for one type refuses the other.
    dumped = 0
    for low in "", "type=f16", "type=bf16":
        (code, made), (copied_code, copied) = (dump(opt, module, policy, low)
                                               for policy in (path.stem, copy))
        assert code == copied_code, (path, low)
        if code == 0:
            keys = set(made) | set(copied) if "extends" in said else said
            for key in sorted(keys - {"policy"}):
                assert made[key] == copied[key], (path, low, made[key], copied[key])
            dumped += 1
    print(f"{path.stem}: {len(said) - 1} keys equal")
    assert dumped
