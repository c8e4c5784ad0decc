"""What plugin authors and our own tests use: contract classes, a scripted provider, a small world and its server."""
