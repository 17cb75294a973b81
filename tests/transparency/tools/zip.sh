# needs: zip zip
# needs: unzip unzip
# also: run
# reads: tree/one a.zip
# any: from-pipe.zip
# writes: out/tree/sub/big
# Archives made, listed, tested, freshened, split from a pipe, damaged, unpacked.
set -u
umask 022
mkdir -p tree/sub
printf one >tree/one
seq 1 20000 >tree/sub/big
ln -s one tree/link
find tree -exec touch -h -d '2020-01-01 UTC' {} +
zip -qryX a.zip tree
unzip -Z1 a.zip
unzip -tq a.zip
mkdir out && unzip -q a.zip -d out
cmp tree/sub/big out/tree/sub/big && readlink out/tree/link
unzip -p a.zip tree/one | cksum
echo more >>tree/one
touch -d '2021-01-01 UTC' tree/one
zip -fX a.zip
seq 1 100 | zip -qX from-pipe.zip -
unzip -p from-pipe.zip | tail -1
head -c 300 a.zip >broken.zip
unzip -tq broken.zip >/dev/null 2>&1
echo "unzip ended with $?"
zip -qd a.zip tree/link
unzip -Z1 a.zip | wc -l
