"""Grids and graphs: no agents, no clock, no files."""
