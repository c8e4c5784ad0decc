"""`python -m skillopt` is `skillopt`."""

from skillopt.cli import main

if __name__ == "__main__":
    main()
