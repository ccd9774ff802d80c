#!/bin/sh
# Install the requirement sets of a make target into .venv: setup.sh SET...
# .venv is created with the first suitable Python, or the one named by PYTHON.
here=$(dirname "$0")

"$here/../.venv/bin/python" "$here/install.py" --ready "$@" 2>/dev/null && exit 0

fail() {
    echo "foregate: $1" >&2
    exit 1
}

# The user's own python3 first, then the versions that were tested longest. One a line: the path
# that PYTHON names may contain spaces.
IFS='
'
found= unfit=
for python in ${PYTHON:-python3
python3.13
python3.12
python3.11
python3.14}; do
    version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) ||
        continue
    found="${found:+$found, }$python $version"
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || continue
    if "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        exec "$python" "$here/install.py" "$@"
    fi
    unfit="$python"
done

none=${PYTHON:+"$PYTHON, which does not run"}
[ -n "$unfit" ] && fail "$unfit lacks venv or ensurepip: install them (Debian, Ubuntu: \
apt-get install python3-venv), or name another Python: make PYTHON=/path/to/python3"
fail "Python 3.11 to 3.14 is needed (found: ${found:-${none:-none}}): install it, or say where it is: make PYTHON=/path/to/python3"
