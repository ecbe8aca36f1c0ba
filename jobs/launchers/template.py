"""A launcher that is none of ours, as the site writes it: aprun, jsrun, flux, srun with PMIx."""

from __future__ import annotations

from hindmost.errors import UsageError
from hindmost.jobs.placeholders import fill
from hindmost.jobs.study.machine import Machine


class Template:
    """The words of a machine's ``launch_template``, with numbers in the place of their names."""

    name = "template"

    def words(
        self, machine: Machine, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start so many ranks; binding them is the template's affair.

        Raises
        ------
        UsageError
            The machine has no template, or one that does not say how many ranks.
        """
        of = f"launch_template of machine '{machine.name}'"
        text = " ".join(machine.launch_template)
        if "{ranks}" not in text:
            raise UsageError(
                f"The {of} is '{text}'; it must say where the number of ranks stands, as in "
                '["aprun", "-n", "{ranks}", "-N", "{ranks_per_node}", "-cc", "depth"].'
            )
        values = {"ranks": ranks, "ranks_per_node": ranks_per_node, "nodes": nodes}
        words = (fill(word, values, where=of) for word in machine.launch_template)
        return (*words, *machine.launch_args)

    def warnings(self, machine: Machine) -> tuple[str, ...]:
        """Say nothing: the site's own words are trusted."""
        return ()


TEMPLATE = Template()
"""The launcher of a machine's own words."""
