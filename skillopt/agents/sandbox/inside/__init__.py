"""What runs inside the box, before and beside the foreign program.

This package is shown to the box alone, without the rest of SkillOpt, and starts with every run. So it imports nothing
of SkillOpt and only what the interpreter holds already or loads in a blink.
"""
