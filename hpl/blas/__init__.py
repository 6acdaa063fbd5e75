"""The BLAS libraries HPL can be linked with: what is there, what each can do, what each really does."""
