"""Counts the launches on a GPU of a program before (PLAN) and after (GPU)
--mpt-kernels-to-gpu, which makes many one: all, and those that make two or more single
f32 numbers, as a gradient's sum of squares and the number of its elements that are not
finite.

    count_launches.py PLAN GPU
"""
import re
import sys

counts = {False: [0, 0], True: [0, 0]}
for line in open(sys.argv[1]):
    launch = re.search(r"mpt_program\.launch @.* outs\((.*?) : (.*?)\)( partials\()?", line)
    if launch:
        makes_numbers = launch[2].split(", ").count("memref<f32>") >= 2
        counts[makes_numbers][0] += 2 if launch[3] else 1
for line in open(sys.argv[2]):
    launch = re.search(r"mpt_program\.device_launch @\w+::@(\w+) .* outs\((.*?) : (.*?)\)", line)
    if launch and not launch[1].startswith("mpt_"):
        makes_numbers = ("_batch" in launch[1] or
                         launch[3].split(", ").count("memref<f32>") >= 2)
        counts[makes_numbers][1] += 1
for makes_numbers, name in ((True, "to numbers"), (False, "others")):
    print(f"{name}: {counts[makes_numbers][0]} launches as {counts[makes_numbers][1]}")
