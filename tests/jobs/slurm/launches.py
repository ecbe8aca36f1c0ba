"""What a batch job of the tests does: starts ``rank.py`` by hindmost's launchers, one by one.

Its words are a file of launches and a file for what they printed.
"""

import json
import subprocess
import sys
from pathlib import Path

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.launchers import LAUNCHERS

asked, told = Path(sys.argv[1]), Path(sys.argv[2])
results = []
for launch in json.loads(asked.read_text()):
    machine = MachineProfile(
        name="test", scheduler="slurm", cores_per_node=launch.pop("cores"), **launch.pop("machine")
    )
    words = LAUNCHERS[machine.launcher].prefix(machine, **launch)
    done = subprocess.run(
        [*words, sys.executable, str(Path(__file__).with_name("rank.py"))],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )
    said = {"out": done.stdout, "err": done.stderr}
    results.append({"words": words, "status": done.returncode, **said})
told.with_suffix(".part").write_text(json.dumps(results))
told.with_suffix(".part").replace(told)
