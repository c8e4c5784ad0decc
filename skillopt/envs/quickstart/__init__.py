"""The shipped tasks: real text of our own making, small enough to train on a laptop's processor."""
