"""Starts and does nothing."""

import os
import time

os.write(1, b"just a moment\n")
time.sleep(600)
