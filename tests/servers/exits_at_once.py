"""Says why and exits before it has read anything."""

import sys

sys.exit("no API key given")
