"""Compares the attributes of docs/Attributes.md with those of the dialect, place by place,
and finds attributes that the code names elsewhere."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
header = (root / "include/mpt/Dialect/MPT/IR/DiscardableAttributes.h").read_text()
table = (root / "lib/Dialect/MPT/IR/DiscardableAttributes.cpp").read_text()
names = dict(re.findall(r'StringLiteral (k\w+Attr) =\s*"(mpt\.\w+)";', header))
lists = {name: re.findall(r'"([\w.*]+)"', body)
         for name, body in re.findall(r"StringLiteral (\w+)\[\] = \{([^}]*)\};", table)}
code = set()
for attribute, place, ops in re.findall(r"\{(k\w+Attr),\s*(\w+),\s*(\{\}|\w+),", table):
    for where in [place] if ops == "{}" else lists[ops]:
        code.add((names[attribute], where.lower()))
docs = set()
for line in (root / "docs/Attributes.md").read_text().splitlines():
    if line.startswith("| `mpt."):
        attributes, places = line.split("|")[1:3]
        for attribute in re.findall(r"`([\w.]+)`", attributes):
            for where in places.replace("`", "").replace("an op", "op").split(","):
                docs.add((attribute, where.strip()))
problems = [f"not in docs/Attributes.md: {each}" for each in sorted(code - docs)]
problems += [f"only in docs/Attributes.md: {each}" for each in sorted(docs - code)]
problems += [f"{each} has no entry in the table" for each in sorted(set(names.values()) - {name for name, _ in code})]
setter = re.compile(r'(?:[sg]et|has|remove|erase)\w*Attr\w*(?:<[^>]*>)?\(\s*(?:\w+(?:\.\w+\(\))?,\s*)?"mpt\.')
for folder in ("include", "lib", "tools"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".h", ".cpp", ".td") and setter.search(path.read_text()):
            problems.append(f"{path.relative_to(root)} names an attribute by a text of its own")
print("\n".join(problems))
print(f"{len(names)} attributes, {len(code)} places, {len(problems)} problems")
sys.exit(bool(problems))
