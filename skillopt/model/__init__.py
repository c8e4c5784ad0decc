"""Models: one interface, one retry policy, one limiter. Import its modules by name: nothing is loaded from here."""
