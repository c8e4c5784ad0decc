"""What to keep. A gate policy is pure: evidence so far in, the attempts it still wants or a decision out."""

from skillopt.evaluation.gates.certified import Certified
from skillopt.evaluation.gates.contest import judged, wanted_by
from skillopt.evaluation.gates.evidence import Evidence, Gate, Wanted, spread
from skillopt.evaluation.gates.guards import Guarded
from skillopt.evaluation.gates.race import Race
from skillopt.evaluation.gates.strict import Off, Strict

__all__ = [
    "Certified", "Evidence", "Gate", "Guarded", "Off", "Race", "Strict", "Wanted", "judged", "spread", "wanted_by",
]  # fmt: skip
