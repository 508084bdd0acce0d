"""Holds a CSV table of mpt-memory-report=pareto to what it promises.

    check_pareto.py TABLE.csv
"""

import csv
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20, len(rows)
    saved, last, failed = 0, 0.0, False
    for row in rows:
        if row["status"] != "met":
            # Less memory never becomes possible again.
            failed = True
            continue
        assert not failed, row
        assert int(row["bytes"]) <= int(row["budget_bytes"]), row
        overhead = float(row["overhead"])
        assert overhead >= last, row
        assert overhead >= float(row["lower_bound"]) - 1e-6, row
        last = overhead
        saved += float(row["budget_ratio"]) < 0.9
    assert saved > 0


main()
