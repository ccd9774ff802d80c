#!/bin/sh
# Install Chromium for the browser tests if possible; without it they are skipped.
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "foregate: installing Debian's chromium for the browser tests" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null &&
        apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
echo "foregate: no Chromium found; the browser tests will be skipped (install chromium)" >&2
