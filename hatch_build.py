"""Build hook: the wheel contains the built page, so that its users need no Node.js."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/polygraph/server/page"


class PageHook(BuildHookInterface):  # type: ignore[type-arg]  # the configuration is hatchling's own
    """Builds `web/` before a wheel or sdist is packed. An editable install takes the clone as it is."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if it is not built, and have it packed although git ignores it.

        Raises:
            RuntimeError: if the page of a wheel cannot be built.
        """
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / PAGE / "index.html").is_file():
            self._build(root / "web")
        build_data["artifacts"].append(f"{PAGE}/**")

    def _build(self, web: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            if os.environ.get("POLYGRAPH_WITHOUT_PAGE"):
                print("polygraph: packed without the page, as POLYGRAPH_WITHOUT_PAGE asks", file=sys.stderr)
                return
            raise RuntimeError(
                "The page is not built, and npm, which builds it, was not found. Install Node.js 20 or newer, or set "
                "POLYGRAPH_WITHOUT_PAGE=1 for a wheel that serves the API alone."
            )
        for command in (["install", "--no-save", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=web, check=True)  # noqa: S603 - fixed arguments
