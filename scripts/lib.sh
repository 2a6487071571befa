# Sourced by the scripts beside it: a virtual environment of this checkout, made when it is not there.
# PYTHON chooses the interpreter, VENV the folder of the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV="${VENV:-.venv}"

find_python() {
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Python 3.11 or newer is needed and was not found; set PYTHON to one" >&2
  return 1
}

# install EXTRAS: the project, editable, with the given extras ("" for none), into the environment. Where this checkout is
# installed so, and what says how has not changed since, nothing happens: scripts may run beside each other.
install() {
  local stamp="$VENV/installed-$1"
  if [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt pdb_core/__init__.py ] && [ "$(cat "$stamp")" = "$PWD" ]; then
    return
  fi
  if [ ! -x "$VENV/bin/python" ]; then
    local python
    python="$(find_python)"
    if ! "$python" -m venv "$VENV" 2>"$VENV.log"; then
      cat "$VENV.log" >&2
      echo "cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
      return 1
    fi
    rm -f "$VENV.log"
  fi
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".$1"
  echo "$PWD" >"$stamp"
}

# install_chromium: the browser that the tests of the page look through, where it is not there and can be installed.
install_chromium() {
  if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    return
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    apt-get install -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
  else
    echo "the tests of the page need Chromium and will fail without it; on Debian: apt-get install chromium" >&2
  fi
}
