"""The commands, one module each: ``add_to`` states its arguments, ``run`` does the work."""
