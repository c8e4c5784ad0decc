"""Providers: one module per family of routes, loaded when a run starts."""
