"""The campaign of `tune`: pilot runs, N, warm start, search, confirmation, prediction of the full run."""
