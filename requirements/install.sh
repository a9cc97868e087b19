#!/bin/sh
# Make an environment with a stack and mmcar: install.sh VENV STACK
# STACK is official, onedl or pure, which has no MMSegmentation.
# PYTHON=... chooses the interpreter. Run from the repository.
#
# A folder is only ever filled if it is new, empty or an environment, and
# only parts of an environment that was made here are ever removed.
set -eu
venv=${1%/}
stack=$2
made=$venv/.mmcar-made
ready=$venv/.mmcar-ready
constraints=requirements/constraints.txt

refuse() {
    echo "make: $venv $1: choose another folder by VENV=..." >&2
    exit 2
}

is_environment() {
    [ -x "$venv/bin/python" ] &&
        { [ -f "$venv/pyvenv.cfg" ] || [ -d "$venv/conda-meta" ]; }
}

# The mark names the folder, so that a copy or a moved one is not taken for it.
was_made_here() {
    [ -f "$made" ] && [ "$(cat "$made")" = "$(cd "$venv" && pwd -P)" ]
}

is_current() {
    [ -f "$ready" ] && [ -x "$venv/bin/python" ] &&
        [ -z "$(find requirements setup.py -newer "$ready" -type f)" ]
}

install() {
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check "$@"
}

[ -n "$venv" ] || refuse '(an empty name) is no folder'
mkdir -p "$(dirname "$venv")"
if command -v flock > /dev/null; then
    # Appending leaves a file of that name as it is.
    exec 9>> "$venv.lock"
    flock -n 9 || {
        echo "Waiting for another make that fills $venv"
        flock 9
    }
fi
if is_current; then
    exit 0
fi

if [ -e "$venv" ]; then
    [ -d "$venv" ] || refuse 'is a file'
    if was_made_here; then
        if [ ! -e "$ready" ]; then
            # Half-installed packages look whole to pip.
            echo "$venv is incomplete: starting over"
            for part in bin include lib lib64 share etc pyvenv.cfg; do
                rm -rf "${venv:?}/$part"
            done
        fi
    elif ! is_environment && [ -n "$(ls -A "$venv")" ]; then
        refuse 'holds files and is no working Python environment'
    fi
fi
if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$venv"
    (cd "$venv" && pwd -P) > "$made"
    "$PYTHON" -m venv "$venv"
fi
rm -f "$ready"
echo "Installing into $venv: pip, torch (large), the $stack stack, mmcar"
install --upgrade pip
install -c $constraints torch==2.13.0 setuptools wheel
case $stack in
    pure) parts='runtime figures pure' ;;
    *) parts="runtime figures plugin $stack tests deploy" ;;
esac
set --
for part in $parts; do
    set -- "$@" -r "requirements/$part.txt"
done
install -c $constraints "$@"
install --no-deps --no-build-isolation -e .
touch "$ready"
