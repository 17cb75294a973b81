#!/bin/sh
# Run the parallel HDF5 kernel's four patterns under provio and query the calls of each rank.
# usage: demo.sh [FOLDER]      (default: build/h5bench in the repository, its old record removed first)
# PROVIO and MPIRUN name the commands to use; RANKS is the number of ranks.
set -eu

say() { printf '\n== %s\n' "$*"; }
die() { printf 'demo.sh: %s\n' "$*" >&2; exit 1; }

provio=$(command -v -- "${PROVIO:-provio}") || die "no command provio: install it, or set PROVIO"
mpirun=$(command -v -- "${MPIRUN:-mpirun}") || die "no command mpirun: apt-get install openmpi-bin, or set MPIRUN"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ranks=${RANKS:-4}
options="--oversubscribe"
[ "$(id -u)" != 0 ] || options="$options --allow-run-as-root"

if [ $# -gt 0 ]; then
    folder=$1
else
    folder=$here/../../build/h5bench
    rm -rf -- "$folder/.provio"
fi
mkdir -p -- "$folder"
CDPATH='' cd -- "$folder"
make -s -f "$here/Makefile"
PROVIO_HOME=$(pwd)/.provio
export PROVIO_HOME

for step in "write" "read" "overwrite --collective" "append --collective"; do
    say "$ranks ranks: kernel $step"
    # shellcheck disable=SC2086
    "$provio" run --name "${step%% *}" -- "$mpirun" $options -n "$ranks" ./kernel ${step%% *} particles.h5 \
        ${step#"${step%% *}"} > "${step%% *}.txt"
    grep "^rank 0 H5D" "${step%% *}.txt"
done

say "The writes of each rank, over all four runs: provio query io-by-rank -p api=H5Dwrite"
"$provio" query io-by-rank -p api=H5Dwrite --as table

say "Calls, bytes and time by function, for the append: provio query io-by-api --name append"
"$provio" query io-by-api --name append --as table

say "The operations on the file itself: provio query io-by-file"
"$provio" query io-by-file -p path="$(pwd)/particles.h5" --as table
