"""Compares two files of numbers: compare_numbers.py A B [BOUND]"""
import sys

numbers = [[float.fromhex(text) for text in open(name).read().split()]
           for name in sys.argv[1:3]]
bound = float(sys.argv[3]) if len(sys.argv) > 3 else 0.005
apart = max(abs(a - b) / abs(a) for a, b in zip(*numbers, strict=True))
print(f"{len(numbers[0])} numbers, apart by less than {bound}: {apart < bound} ({apart:.1e})")
