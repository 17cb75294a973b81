#!/bin/sh
# Run the fibre pipeline under provio and query the origins of its last product.
# usage: demo.sh [FOLDER]      (default: build/demo in the repository, its old record removed first)
# PROVIO and PYTHON name the commands to use. The provenance goes to FOLDER/.provio.
set -eu

say() { printf '\n== %s\n' "$*"; }
die() { printf 'demo.sh: %s\n' "$*" >&2; exit 1; }

# A command by name or relative path, so that it is found after the change of folder.
find_command() {
    found=$(command -v -- "$1") || die "no command $1: install provio and set PROVIO and PYTHON, or use \`make demo\`"
    case $found in
        /*) printf '%s\n' "$found" ;;
        *) printf '%s/%s\n' "$PWD" "$found" ;;
    esac
}

provio=$(find_command "${PROVIO:-provio}")
python=$(find_command "${PYTHON:-python3}")
"$python" -c 'import h5py, numpy, scipy' || die "$python lacks packages: $python -m pip install h5py numpy scipy"

programs=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ $# -gt 0 ]; then
    folder=$1
else
    folder=$programs/../../build/demo
    rm -rf -- "$folder/.provio"
fi
mkdir -p -- "$folder"
CDPATH='' cd -- "$folder"
PROVIO_HOME=$(pwd)/.provio
export PROVIO_HOME

if [ ! -e WestSac.bin ]; then
    say "The instrument: synthesise the raw recording (not recorded)"
    "$python" "$programs/synthesise.py" WestSac.bin.part
    mv WestSac.bin.part WestSac.bin
fi

say "Step 1 of 4: raw counts to strain rate in HDF5"
"$provio" run -- "$python" "$programs/tdms2h5.py" WestSac.bin WestSac.h5

say "Step 2 of 4: low-pass and decimate"
"$provio" run -- "$python" "$programs/decimate.py" WestSac.h5 decimate.h5

say "Step 3 of 4: cross-correlate and stack"
"$provio" run -- "$python" "$programs/xcorr.py" decimate.h5 xcorr.h5

say "Step 4 of 4: two numbers, each from a different input"
"$provio" run -- "$python" "$programs/summarise.py" WestSac.h5 xcorr.h5 summary.h5

say "Where did xcorr.h5 come from?  provio lineage xcorr.h5"
"$provio" lineage xcorr.h5

say "Which files were made from WestSac.bin?  provio lineage --forward WestSac.bin"
"$provio" lineage --forward WestSac.bin

say "Where did the number summary.h5#/speed come from?  provio lineage summary.h5#/speed"
"$provio" lineage summary.h5#/speed

say "And the file that contains it?  provio lineage summary.h5 --depth 1"
"$provio" lineage summary.h5 --depth 1

say "The data of decimate.h5?  provio lineage decimate.h5#/DataTimeChannel --depth 1"
"$provio" lineage decimate.h5#/DataTimeChannel --depth 1

say "Which objects are in the file, and which program made each?  provio query hdf5-objects"
"$provio" query hdf5-objects -p path="$(pwd)/summary.h5" --as table

say "The same as a page"
"$provio" view xcorr.h5 -o lineage.html
[ -s lineage.html ] || die "provio view wrote no lineage.html"
printf '%s\n' "$(pwd)/lineage.html"

say "What next? These commands work as they stand:"
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
plain() { case $1 in *[!A-Za-z0-9/._+-]*) quoted "$1" ;; *) printf '%s' "$1" ;; esac; }
command=provio
if [ -e "$(dirname -- "$provio")/activate" ]; then
    printf '    . %s\n' "$(plain "$(dirname -- "$provio")/activate")"
else
    command=$(plain "$provio")
fi
printf '    cd %s\n' "$(plain "$(pwd)")"
printf '    %s\n' "$command status" "$command why summary.h5" "$command impact WestSac.bin" "$command view summary.h5 -o summary.html"
