"""The probes by name, in the order of ``all``: each fills a section of the machine file."""

from __future__ import annotations

from hindmost.harness.probes.sections.cell_times import GRIND
from hindmost.harness.probes.sections.checkpoint import CHECKPOINT
from hindmost.harness.probes.sections.contract import ProbeSection
from hindmost.harness.probes.sections.memory import MEMORY
from hindmost.harness.probes.sections.network import NETWORK
from hindmost.harness.probes.sections.noise import NOISE
from hindmost.harness.probes.sections.speed import SPEED
from hindmost.registry import Registry

SECTIONS: Registry[ProbeSection] = Registry(
    "probe", (SPEED, NOISE, NETWORK, MEMORY, GRIND, CHECKPOINT)
)
"""The probes of ``hindmost probe``."""
