"""Files to grids: every loader says file, line and reason when it refuses one."""
