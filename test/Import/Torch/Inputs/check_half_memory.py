"""Plans networks of torch_networks in f32 and bf16. check_half_memory.py BENCHMARKS"""
import sys

sys.path.insert(0, sys.argv[1])
from memory_vs_pytorch import mpt_step

for name in ("inverted",):
    wide, half = (mpt_step(name, precision)[0].arena_bytes for precision in ("f32", "bf16"))
    print(f"{name}: bf16 takes", "about half" if half <= 0.65 * wide else f"{half / wide:.2f} of f32")
