"""Worlds and requests: the facade above the algorithms. No sockets, no clock."""
