"""Environment variables that determine what code runs, independently of the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PREFIXES: Final = (
    "BUN_",
    "BUNDLE_",
    "CORECLR_",
    "COR_",
    "DENO_",
    "DOTNET_",
    "DYLD_",
    "GEM_",
    "GIT_",
    "JAVA_",
    "LD_",
    "LUA_",
    "NODE_",
    "NPM_CONFIG_",
    "PERL5",
    "PIP_",
    "PYTHON",
    "RUBY",
    "UV_",
)
_NAMES: Final = frozenset(
    {
        "BASH_ENV",
        "CLASSPATH",
        "DOCKER_HOST",
        "ELECTRON_RUN_AS_NODE",
        "ENV",
        "GCONV_PATH",
        "GLIBC_TUNABLES",
        "HOME",
        "JDK_JAVA_OPTIONS",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "PATH",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "SHELL",
        "XDG_CONFIG_HOME",
        "_JAVA_OPTIONS",
    }
)


def find_loader_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that can make a loader, interpreter or installer run other code.

    Example:
        >>> find_loader_variables({"NODE_OPTIONS": "--require=/x.js", "npm_config_registry": "r",
        ...     "KEY": "k"})
        {'NODE_OPTIONS': '--require=/x.js', 'npm_config_registry': 'r'}
    """
    return {name: value for name, value in env.items() if _is_loader(name.upper())}


def _is_loader(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)
