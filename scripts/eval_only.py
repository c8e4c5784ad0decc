"""Score a skill: `skillopt-eval` under the name the guide uses."""

from skillopt.cli import eval_main

if __name__ == "__main__":
    eval_main()
