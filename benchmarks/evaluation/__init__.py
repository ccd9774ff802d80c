"""Measuring search (and later suggestion) on data sets with known answers."""
