"""Tells other programs how campaigns ended: at addresses that the operator chose, signed, until they answer."""
