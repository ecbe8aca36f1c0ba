"""What to type at ``hindmost scale`` in place of an option of Extra-P's command."""

from __future__ import annotations

from collections.abc import Mapping

RECOGNISED = "the format is recognised by content, so name the file only"
REPETITIONS = (
    "models use all repetitions and leave out outliers, with no choice of mean or median; omit it"
)
NOT_READ = "this format is not read; export the measurements as JSON lines"

HABITS: Mapping[str, str] = {
    "--text": RECOGNISED,
    "--talpas": RECOGNISED,
    "--experiment": RECOGNISED,
    "--extra-p-3": "open and save the file with Extra-P 4, and name that",
    "--cube": "the format is recognised by content, so name the folder only",
    "--nsight": NOT_READ,
    "--extra-prof": NOT_READ,
    "--perf-taint": NOT_READ,
    "--scaling": "type '--over-ranks mean' (the default) for weak, '--over-ranks sum' for strong",
    "--median": REPETITIONS,
    "--measure": REPETITIONS,
    "--keep-values": "all repetitions are kept; omit it",
    "--modeler": (
        "changes of behaviour and several parameters need no option; '--method paper' has "
        "models of one term and the segmented modeler's rule"
    ),
    "--options": "'--space' and '--noise' choose what models may be",
    "--help-modeler": "'--space', '--noise' and '--method' choose what models may be",
    "--out": "redirect the output, '> FILE', also that of '--json', '--python' or '--latex'",
    "--print": (
        "the table has it all; '--python' for all-python, '--latex' for all-latex, and for "
        "functions alone '--json | jq -r .models[].segments[].expression'"
    ),
    "--save-experiment": "'--json > FILE' keeps the models, '--python > FILE' makes them callable",
    "--model-set-name": "models are in no sets; omit it",
    "--disable-progress": "there is none in files and pipes; omit it",
    "--log": "warnings are on stderr; omit it",
}
"""By option; in Extra-P 4.2 and in versions to come."""
