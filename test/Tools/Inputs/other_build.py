"""Makes a folder that looks like another build: other_build.py FOLDER BIN seed|order.

Its tools are those of BIN, but one gets an option more: mpt-run a seed, or
mpt-plan-step an order.
"""
import os
import sys

folder, tools, change = sys.argv[1:]
os.makedirs(os.path.join(folder, "bin"))
os.symlink(os.path.join(os.path.dirname(tools), "lib"), os.path.join(folder, "lib"))
for tool in ("mpt-opt", "mpt-run", "mpt-compile"):
    path = os.path.join(folder, "bin", tool)
    with open(path, "w") as script:
        arguments = "sys.argv[1:]"
        if (tool, change) == ("mpt-run", "seed"):
            arguments += " + ['--seed=1']"
        if (tool, change) == ("mpt-opt", "order"):
            arguments = f"[a + ' order=depth-first' * a.startswith('--mpt-plan-step=') for a in {arguments}]"
        script.write(f"#!{sys.executable}\nimport os, sys\nprogram = {os.path.join(tools, tool)!r}\n"
                     f"os.execv(program, [program] + {arguments})\n")
    os.chmod(path, 0o755)
