"""Sums lit result files into one line: N passed, N failed, N skipped.

count-results.py RESULTS.json... [-- [PASSED FAILED]...]

Names what failed and what was skipped. Exits with 1 if a test failed or if
none ran.
"""

import json
import os
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main(arguments):
    files, extra = arguments, []
    if "--" in arguments:
        split = arguments.index("--")
        files, extra = arguments[:split], arguments[split + 1 :]
    passed, failed, skipped = 0, [], []
    for path in files:
        if not os.path.exists(path):
            failed.append(path + ": lit wrote no results")
            continue
        with open(path) as file:
            for test in json.load(file)["tests"]:
                if test["code"] in PASSED:
                    passed += 1
                elif test["code"] in SKIPPED:
                    skipped.append(test["name"])
                else:
                    failed.append(test["name"])
    failures = len(failed)
    if extra:
        passed += sum(map(int, extra[0::2]))
        failures += sum(map(int, extra[1::2]))
    for name in skipped:
        print("skipped:", name)
    for name in failed:
        print("failed:", name)
    print(f"{passed} passed, {failures} failed, {len(skipped)} skipped")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
