"""Search spaces: parameters, restrictions, and the spaces that ship with hpltune. Knows no optimiser."""
