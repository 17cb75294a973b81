# needs: grep grep
# needs: find findutils
# also: run
# reads: tree/a1 tree/sub/b2 tree/binary
# Searching trees: many small files, a binary one, links, file systems' limits; find with its actions.
set -u
umask 022
mkdir -p tree/sub/deep
for i in $(seq 1 40); do echo "line $i of a" >tree/a$i; echo "line $i of b" >tree/sub/b$i; done
printf 'x\0line 1\n' >tree/binary
ln -s ../tree tree/sub/loop
ln -s a1 tree/to-a1
seq 1 20000 >tree/sub/deep/long
grep -r 'line 1' tree | sort
grep -R 'line 4' tree 2>&1 | sort | head -20
grep -rc line tree | sort | head -5
grep -rl --include='b1*' line tree | sort
grep -rLz nothing tree | sort | head -3
grep -c 99 tree/sub/deep/long
grep -n -A1 -B1 '^7777$' tree/sub/deep/long
grep -aob line tree/binary
grep -f <(echo 'line 3') -r tree --exclude-dir=sub | sort
grep -m2 line <tree/a1
grep x nothing
echo "grep ended with $?"
grep -q line tree/a1 && echo found
find tree -name 'a1*' | sort
find tree -type l -printf '%p -> %l\n' | sort
find -L tree -name long 2>/dev/null | sort
find tree -type f -size +10k
touch -d 2020-01-01 tree/a1
find tree -newer tree/a1 -name b40
find tree -name 'b*' -exec cat {} + | sort | tail -1
find tree -name 'a3*' -print0 | sort -z | xargs -0 -n 3 -P 2 cat | sort
find tree -name 'b2?' -execdir mv {} {}.moved \;
find tree -name '*.moved' -delete
find tree -depth -type d | sort
find . -maxdepth 1 -perm -u+w -fprint found.txt
find nothing
echo "find ended with $?"
