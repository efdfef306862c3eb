"""Bots on a map without an engine: scenarios, behaviours, runs, recordings and reports."""
