"""Counts the launches on a GPU of a program before (PLAN) and after (GPU)
--mpt-kernels-to-gpu, which makes many one: those that make a single f32 number, such as
the sum of a gradient's squares or the number of its elements that are not finite, and the
others.

    count_launches.py PLAN GPU
"""
import re
import sys

counts = {False: [0, 0], True: [0, 0]}
for line in open(sys.argv[1]):
    launch = re.search(r"mpt_program\.launch @.* outs\((.*?) : (.*?)\)( partials\()?", line)
    if launch:
        makes_numbers = "memref<f32>" in launch[2].split(", ")
        counts[makes_numbers][0] += 2 if launch[3] else 1
for line in open(sys.argv[2]):
    launch = re.search(r"mpt_program\.device_launch @\w+::@(\w+) .* outs\((.*?) : (.*?)\)", line)
    if launch and not launch[1].startswith("mpt_"):
        makes_numbers = ("_batch" in launch[1] or
                         "memref<f32>" in launch[3].split(", "))
        counts[makes_numbers][1] += 1
for makes_numbers, name in ((True, "to numbers"), (False, "others")):
    print(f"{name}: {counts[makes_numbers][0]} launches as {counts[makes_numbers][1]}")
