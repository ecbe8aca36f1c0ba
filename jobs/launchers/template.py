"""Any other launcher, as the site writes it: aprun, jsrun, flux, srun with PMIx."""

from __future__ import annotations

from hindmost.errors import UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.values import fill_numbers


class Template:
    """The words of a machine's ``launch_template``, with names in braces replaced by numbers."""

    name = "template"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words of the template, which places and binds the ranks itself.

        Raises
        ------
        UsageError
            The machine has no template, or its template lacks ``{ranks}``.
        """
        of = f"launch_template of machine '{machine.name}'"
        text = " ".join(machine.launch_template)
        if "{ranks}" not in text:
            raise UsageError(
                f"The {of} is '{text}'; it must contain {{ranks}}, as in "
                '["aprun", "-n", "{ranks}", "-N", "{ranks_per_node}", "-cc", "depth"].'
            )
        values = {"ranks": ranks, "ranks_per_node": ranks_per_node, "nodes": nodes}
        words = (fill_numbers(word, values) for word in machine.launch_template)
        return (*words, *machine.launch_args)

    def warnings(self, machine: MachineProfile) -> tuple[str, ...]:
        """Return nothing: the site's own words are trusted."""
        return ()


TEMPLATE = Template()
"""The launcher ``template``."""
