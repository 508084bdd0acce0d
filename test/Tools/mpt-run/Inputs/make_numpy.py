# fit.mlir's data as NumPy writes it, in several layouts.
#   make_numpy.py DIRECTORY
import sys

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
