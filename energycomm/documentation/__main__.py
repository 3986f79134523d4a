"""`python -m energycomm.documentation FOLDER`: write generated pages and blocks anew."""

from __future__ import annotations

import sys
from pathlib import Path

from energycomm.documentation.pages import write

write(Path(sys.argv[1]))
