# Functions of the other scripts: they make and use a virtual environment of this checkout.
# PYTHON is the interpreter, VENV the folder of the environment.
set -euo pipefail
# With --help, a script prints the comment at its top, and installs nothing.
if [[ " $* " = *" --help "* ]]; then
  sed -n '2,${/^#/!q;s/^# \?//p}' "$0"
  exit
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV="${VENV:-.venv}"
# Some containers set it; then each process would compile all packages again.
unset PYTHONDONTWRITEBYTECODE

find_python() {
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "found no Python 3.11 or newer; set PYTHON to one" >&2
  return 1
}

# pip_install WORD...: say what is installed, and where, and install it: with uv, which takes 5 s where pip takes 40, or,
# if uv fails or WITH_UV is no, with pip, whose settings (an index of packages in a company, say) uv does not read.
pip_install() {
  echo "installing into $VENV: $*" >&2
  local python="$VENV/bin/python"
  # An environment that uv made has no pip.
  "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null
  # Python compiles what is imported; compiling all packages in advance takes half of pip's time.
  local pip=("$python" -m pip install --quiet --disable-pip-version-check --no-compile)
  if [ "${WITH_UV:-}" != no ] && { [ -x "$VENV/bin/uv" ] || "${pip[@]}" uv; }; then
    UV_CONSTRAINT="${PIP_CONSTRAINT:-}" "$VENV/bin/uv" pip install --quiet --python "$python" "$@" && return
  fi
  "${pip[@]}" "$@"
}

# apt_install PACKAGE...: say which packages of Debian are installed, and install them.
apt_install() {
  echo "installing with apt-get: $*" >&2
  apt-get update -qq
  apt-get install -qq --no-install-recommends "$@" >/dev/null
}

# install EXTRAS PACKAGE...: install the project, editable, with the given extras ("" for none), and other packages into
# the environment. Does nothing if that was done since the last change of pyproject.toml and of the version, so that
# scripts can run at the same time.
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
      echo "cannot make a virtual environment; on Debian, run: apt-get install python3-venv" >&2
      return 1
    fi
    rm -f "$VENV.log"
  fi
  pip_install --editable ".$1" "${@:2}"
  echo "$PWD" >"$stamp"
  # The packages of the extra `docs` are among them.
  if [ "$1" = "[dev]" ]; then echo "$PWD" >"$VENV/installed-[docs]"; fi
}

# install_chromium: install the browser for the tests of the page, if it is missing and the user is root.
install_chromium() {
  if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    return
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt_install chromium fonts-dejavu-core
  else
    echo "the tests of the page are skipped without Chromium; on Debian, run: apt-get install chromium" >&2
  fi
}
