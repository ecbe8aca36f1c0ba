"""Scaling models over up to four parameters: sums of products of one-parameter terms.

As in Calotoiu et al. (2016), terms of each parameter are found where the others stand still and
then combined. Unlike there, several terms of a parameter stay in the race, hypotheses are weighted
by the noise model, and each prediction has an interval.
"""

from hindmost.models.pmnf.several.changes import find_joint_changes
from hindmost.models.pmnf.several.fit import fit_parameters
from hindmost.models.pmnf.several.held_out import HeldOut, foretell_outermost

__all__ = ["HeldOut", "find_joint_changes", "fit_parameters", "foretell_outermost"]
