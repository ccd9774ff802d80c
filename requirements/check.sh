#!/bin/sh
# All checks of `make check`; they all run even if one fails, and the exit status is 1 then.
bin=.venv/bin
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
failed=

check() {
    name=$1
    shift
    printf '== %s\n' "$name"
    "$@" || failed="$failed $name"
}

manage() {
    settings=$1
    shift
    "$bin/python" manage.py "$@" --settings "gateway_project.settings.$settings"
}

check locks "$bin/python" requirements/lock.py --check
check lint "$bin/ruff" check --quiet .
check format "$bin/ruff" format --check --quiet .
check types "$bin/python" -m mypy .
check imports "$bin/lint-imports" --no-cache --no-logo
check migrations manage test makemigrations --check --dry-run
if find templates -name '*.html' 2>/dev/null | grep -q .; then
    check templates "$bin/djlint" templates --lint --quiet
fi
check deployment env FOREGATE_HOME="$home" \
    "$bin/python" manage.py check --deploy --fail-level WARNING \
    --settings gateway_project.settings.production

if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
echo "all checks passed"
