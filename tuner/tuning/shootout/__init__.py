"""The campaign of `hpltune blas`: a search of each library, then rounds."""
