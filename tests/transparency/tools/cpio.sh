# needs: cpio cpio
# needs: find findutils
# reads: tree/one archive
# writes: archive out/tree/sub/big
# cpio in its three modes: archives of names from a pipe, unpacking, copying a tree with its links and times.
set -u
umask 022
mkdir -p tree/sub
printf one >tree/one
seq 1 20000 >tree/sub/big
ln tree/one tree/other
ln -s sub/big tree/link
find tree -exec touch -h -d '2020-01-01 UTC' {} +
find tree | sort | cpio -o --quiet -H newc --reproducible -R 0:0 >archive
cpio -it --quiet <archive
mkdir out && (cd out && cpio -idm --quiet <../archive)
cmp tree/sub/big out/tree/sub/big
mkdir copy && find tree -depth | sort | cpio -pdm --quiet copy
cpio -i --quiet --to-stdout tree/one <archive
head -c 5000 archive | cpio -it --quiet 2>&1 | tail -1
find tree -type f | sort | cpio -o --quiet -H ustar | tar tf -
