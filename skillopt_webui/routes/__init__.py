"""Addresses and their handlers: thin, so that everything that can be wrong is decided elsewhere."""
