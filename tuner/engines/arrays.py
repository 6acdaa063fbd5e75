"""Types of arrays: vectors and matrices of floats, and whole numbers that stand for values."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]
