"""Print pip's settings as variables of uv, for a shell to read; end with an error where uv has no such setting.

`.ci/bootstrap` runs it with the pip of the new environment: uv reads neither pip.conf nor PIP_INDEX_URL.
"""

import ast
import os
import shlex
import subprocess
import sys

SAME_IN_UV = {
    "index-url": "UV_INDEX_URL",
    "extra-index-url": "UV_EXTRA_INDEX_URL",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
WITHOUT_MEANING = {
    "break-system-packages",
    "cache-dir",
    "compile",
    "config-file",
    "disable-pip-version-check",
    "no-cache-dir",
    "no-color",
    "no-input",
    "no-warn-script-location",
    "prefer-binary",
    "progress-bar",
    "quiet",
    "require-virtualenv",
    "retries",
    "root-user-action",
    "user",
    "verbose",
}
"""Settings that say nothing of what is installed into an environment, and from where."""
SECTIONS = ("global", "install", ":env:")
"""Each overrules those before it."""


def main() -> None:
    """Read what pip says of its settings, and print them."""
    listed = subprocess.run([sys.executable, "-I", "-m", "pip", "config", "list"], stdout=subprocess.PIPE, check=True)
    settings: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listed.stdout.decode().splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.partition(".")
        if section in settings:
            settings[section][key] = " ".join(ast.literal_eval(value).split())
    found = {key: value for section in SECTIONS for key, value in settings[section].items() if value}
    if strange := set(found) - set(SAME_IN_UV) - WITHOUT_MEANING:
        sys.exit(f"uv has no setting like pip's {', '.join(sorted(strange))}")
    # pip trusts what the machine trusts, and takes the newest version of all indexes.
    variables = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", "UV_INDEX_STRATEGY": "unsafe-best-match"}
    variables |= {SAME_IN_UV[key]: value for key, value in found.items() if key in SAME_IN_UV}
    if "UV_FIND_LINKS" in variables:
        variables["UV_FIND_LINKS"] = variables["UV_FIND_LINKS"].replace(" ", ",")
    for name, value in variables.items():
        sys.stdout.write(f"export {name}={shlex.quote(os.environ.get(name) or value)}\n")


if __name__ == "__main__":
    main()
