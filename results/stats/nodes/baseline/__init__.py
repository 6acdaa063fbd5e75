"""How nodes changed since an earlier check of the same cluster."""
