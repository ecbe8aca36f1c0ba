"""Commands on two ranks: those of all files that are tested, in one launch."""

from pathlib import Path

import pytest
from tests.mpi.commands import Done, run_in_folders

Launched = tuple[Path, dict[str, Done]]


@pytest.fixture(scope="session")
def of_every_file(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Launched]:
    """Return folder and commands of each file that has ``commands``, and what became of them.

    ``commands`` returns them for a folder; ``HOOKS`` may have Python to run before some.
    """
    modules = dict.fromkeys(
        item.module
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path.parent == Path(__file__).parent
    )
    names, asked = [], []
    for module in modules:
        if hasattr(module, "commands"):
            names.append(module.__name__)
            folder = tmp_path_factory.mktemp(names[-1].rpartition(".")[2])
            asked.append((folder, module.commands(folder), getattr(module, "HOOKS", {})))
    done = run_in_folders(tmp_path_factory.mktemp("two"), 2, asked)
    return {
        name: (folder, ended)
        for name, (folder, _, _), ended in zip(names, asked, done, strict=True)
    }


@pytest.fixture(scope="module")
def launched(request: pytest.FixtureRequest, of_every_file: dict[str, Launched]) -> Launched:
    """Return the folder of a file's commands, and what became of them."""
    return of_every_file[request.module.__name__]
