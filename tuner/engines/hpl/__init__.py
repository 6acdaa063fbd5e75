"""The engine `hpl`: it knows HPL's algorithm and asks for what gains most per second of machine time."""
