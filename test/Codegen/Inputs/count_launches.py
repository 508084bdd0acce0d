"""Counts the launches on a GPU of the program that standard input has, after
--mpt-kernels-to-gpu: all, and those that make two or more single f32 numbers, as a
gradient's sum of squares and the number of its elements that are not finite."""
import re
import sys

counts = {False: [0, 0], True: [0, 0]}
for line in sys.stdin:
    launch = re.search(r"mpt_program\.launch @.* outs\((.*?) : (.*?)\)( partials\()?.* tasks \d+(.*)", line)
    if not launch:
        continue
    makes_numbers = launch[2].split(", ").count("memref<f32>") >= 2
    group = re.search(r'mpt\.device_group = "(.*?)"', launch[4])
    stages = 2 if launch[3] else 1
    counts[makes_numbers][0] += stages
    counts[makes_numbers][1] += bool(group[1]) if group else stages
for makes_numbers, name in ((True, "to numbers"), (False, "others")):
    print(f"{name}: {counts[makes_numbers][0]} launches as {counts[makes_numbers][1]}")
