"""The model behind the engine `hpl`: HPL's own cost model, and what a Gaussian process adds to it."""
