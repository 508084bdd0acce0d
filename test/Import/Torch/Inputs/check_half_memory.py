"""Plans networks of torch_networks in f32 and bf16. check_half_memory.py BENCHMARKS"""
import re
import sys

sys.path.insert(0, sys.argv[1])
from memory_vs_pytorch import mpt_step

wide, half = (mpt_step("inverted", precision)[0] for precision in ("f32", "bf16"))
share = half.arena_bytes / wide.arena_bytes
print("inverted: bf16 takes", "about half" if share <= 0.65 else f"{share:.2f} of f32")
told = re.search(r"arena +([0-9,]+)", str(half.memory_report()))[1].replace(",", "")
print("its report says", "the same" if int(told) == half.arena_bytes else f"{told}, not {half.arena_bytes}")

wide, half = (mpt_step("diffusion", precision)[0] for precision in ("f32", "f16"))
share = half.arena_bytes / wide.arena_bytes
print("diffusion: f16 takes", "about two thirds" if share <= 0.7 else f"{share:.2f} of f32")
