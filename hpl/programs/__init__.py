"""Families of programs that compute HPL, behind one contract."""
