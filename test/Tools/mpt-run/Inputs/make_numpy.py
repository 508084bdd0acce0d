# fit.mlir's data as NumPy writes it, in several layouts.
#   make_numpy.py DIRECTORY
import sys
import zipfile

import numpy as np

rng = np.random.default_rng(1)
x = rng.uniform(-1, 1, (40, 2)).astype("float32")
y = (x @ np.array([[3], [-2]], "float32") + 1).astype("float32")
directory = sys.argv[1] + "/"
np.save(directory + "x.npy", x)
np.save(directory + "y.npy", y)
np.save(directory + "fortran.npy", np.asfortranarray(x))
np.save(directory + "big.npy", y.astype(">f4"))
np.savez(directory + "stored.npz", x=x, y=y)
np.savez_compressed(directory + "deflated.npz", x=np.asfortranarray(x), y=y)
np.save(directory + "objects.npy", np.array([None, 1]), allow_pickle=True)

# x with members that claim 2 GiB: in the header and in both of the archive's lists.
rows = 1 << 28
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 2), }" % rows
header = header.ljust(117) + b"\n"
array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)
claimed = len(array) - 64 + rows * 8
for name, method in ("claims_stored", zipfile.ZIP_STORED), ("claims_deflated", zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(directory + name + ".npz", "w", method) as archive:
        archive.writestr("x.npy", array)
    with open(directory + name + ".npz", "rb") as file:
        content = file.read()
    entry = content.index(b"PK\x01\x02")
    content = content[:22] + claimed.to_bytes(4, "little") + content[26:]
    content = content[:entry + 24] + claimed.to_bytes(4, "little") + content[entry + 28:]
    with open(directory + name + ".npz", "wb") as file:
        file.write(content)
with zipfile.ZipFile(directory + "bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
    archive.writestr("x.npy", array)
