"""Sheets for lists of the fastest machines."""
