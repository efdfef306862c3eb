"""What is timed against one another, one module a contender."""
