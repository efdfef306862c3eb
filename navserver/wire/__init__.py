"""Bytes to messages to session state and back; no sockets, no clock. See PROTOCOL.md."""
