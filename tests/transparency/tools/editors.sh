# needs: ed ed
# needs: patch patch
# needs: diff diffutils
# needs: vim vim
# reads: in
# writes: in from-vim
# Editors without a screen: ed, patch forwards and backwards, vim in its ex mode, with swap and backup files.
set -u
umask 022
seq 1 100 >in
printf '%s\n' 5d 's/7/seven/' '$a' last . w 'r !echo from a command' w q | ed -s in
cp in before
printf '%s\n' '1,10d' w q | ed -s in
diff -u before in | sed '1,2s/\t.*//' >change
patch -s before change && cmp before in
patch -sR before change
patch -s --dry-run before before
echo "patch ended with $?"
echo wrong | patch -s in 2>&1
echo "patch ended with $?"
vim -u NONE -i NONE -es -c '%s/1/one/' -c 'w! from-vim' -c 'set backup' -c '3d' -c 'w' -c 'q!' in
cksum in in~ from-vim before
printf 'x\n' | ed -s nothing
echo "ed ended with $?"
