"""Train a skill: `skillopt-train` under the name the guide uses."""

from skillopt.cli import train_main

if __name__ == "__main__":
    train_main()
