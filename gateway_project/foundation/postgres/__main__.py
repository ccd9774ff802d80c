"""Entry point of the keeper's process, which runs this file without site packages."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

from gateway_project.foundation.postgres import keeper

if __name__ == "__main__":
    keeper.main(sys.argv[1:])
