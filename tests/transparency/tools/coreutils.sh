# needs: ls coreutils
# gap: was started without the preload, which the program before it took out
# also: run
# reads: words numbers big
# writes: words copy/words joined dd split-aa installed
# The everyday programs, on few small files: what they print, what they leave, how they fail.
set -u
umask 022
printf '%s\n' pear apple fig apple kiwi >words
seq 1 2000 >numbers
mkdir -p tree/sub/deep "tree/with space"
printf one >tree/one
printf two >tree/sub/two
printf 'three\n' >"tree/with space/three"
ln -s ../one tree/sub/to-one
ln -s nowhere tree/dangling
ln tree/one tree/one-again
mkfifo tree/pipe
chmod 750 tree/sub
chmod u+s,o-r tree/sub/two
touch -d '2020-02-03 04:05:06.789 UTC' tree/one
touch -h -d '2021-01-01 UTC' tree/dangling
touch -r tree/one tree/sub/two
cp -a tree copy
cp words copy
cp --reflink=auto --sparse=always numbers sparse
cp -l words hard
cp -s "$PWD/words" soft
mv copy/sub copy/moved
mv -T copy/moved copy/sub
mv words words.old && mv words.old words
rm -r "copy/with space"
rm -f nothing
ls -1AFR tree copy
stat -c '%n %A %h %s %Y' tree/one tree/sub/two
cat words numbers >both
head -n 3 numbers
head -c 20 numbers
tail -n 2 numbers
tail -c +8880 numbers
sort words >sorted
sort -o words-in-place words && sort -r -o words-in-place words-in-place
sort -n -k1,1 -u numbers | tail -1
sort -c words
uniq -c sorted
cut -c1-2 words | paste -sd,
tr a-z A-Z <words
wc words numbers
wc -l --files0-from=<(printf 'words\0numbers\0')
tee t1 t2 -a <words | wc -c
split -l 700 numbers split-
split -n 3 -d numbers part-
csplit -s -f cs- numbers 1000
comm -12 sorted <(printf 'apple\nkiwi\n')
join sorted sorted >joined
paste words sorted >pasted
shuf --random-source=numbers -n 3 numbers
mkdir -p temporary
TMPDIR=$PWD/temporary mktemp --suffix=.x tXXX >/dev/null
mv temporary/* temporary/fixed 2>/dev/null
rm -f t???.x
install -D -m 640 words sub/installed
install -m 600 words installed
touch -d '2019-12-31 UTC' stamped
chmod a=r words
chmod u+w words
truncate -s 100000 truncated
truncate -s 10 truncated
head -c 100000 /dev/zero >big
dd if=big of=dd bs=4096 count=3 skip=1 seek=2 status=none
dd if=big of=dd-sparse conv=sparse,notrunc bs=64k status=none
dd if=numbers iflag=fullblock bs=1 count=10 status=none
fmt -w 20 words
fold -w 5 words | nl | expand
tac words | rev 2>/dev/null || tac words
od -c words | head -2
base64 words | base64 -d | cmp - words && echo equal
md5sum words numbers >sums && md5sum -c sums
sha256sum words
cksum numbers
b2sum words
du -b --apparent-size words
realpath --relative-to=. tree/sub/to-one
readlink -f tree/sub/to-one
basename tree/one
test -e tree/dangling || echo dangling
link words linked && unlink linked
ln -sf two tree/link && ln -sfn words tree/link
mkfifo fifo && (cat <fifo & echo through >fifo; wait)
rmdir temporary 2>&1 | sed 's/.*: //'
rm -r temporary
cat nothing
cp nothing there
ls nothing 2>/dev/null
echo "ls ended with $?"
cat <big >/dev/full
echo "cat ended with $?"
env -i PATH="$PATH" true
nohup true >/dev/null 2>&1
timeout 5 cat words >timed
{ timeout -s KILL 0.1 sleep 5; } 2>/dev/null
echo "timeout ended with $?"
yes | head -n 1000 | wc -l
seq 5 | xargs -n 2 echo
expr 6 \* 7
sync -f words
pathchk words
tsort <<<'a b b c' 2>/dev/null
stdbuf -o0 cat words
nice true
chmod 0644 words
exit 5
