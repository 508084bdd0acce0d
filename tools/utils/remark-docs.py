"""Puts the catalogue of remarks into docs/Remarks.md.

    llvm-tblgen --dump-json -I include -I LLVM-INCLUDE include/mpt/Support/Remarks.td \\
      | remark-docs.py docs/Remarks.md

Prints the page with its table made anew. A test compares that with the page.
"""

import json
import sys


def main():
    records = json.load(sys.stdin)
    rows = sorted((records[name] for name in records["!instanceof"]["Remark"]),
                  key=lambda row: row["value"])
    table = ["| name | kind | because | what it says |", "| --- | --- | --- | --- |"]
    for row in rows:
        hint = f" Suggests: \"{row['Hint']}\"." if row["Hint"] else ""
        table.append(f"| `{row['Name']}` | {row['Kind']} | {row['Text']} "
                     f"| {row['Doc']}{hint} |")
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = lines.index(table[0]) if table[0] in lines else len(lines)
    last = first
    while last < len(lines) and lines[last].startswith("|"):
        last += 1
    print("\n".join(lines[:first] + table + lines[last:]))


if __name__ == "__main__":
    main()
