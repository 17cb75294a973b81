# needs: bash bash
# also: run
# also: call
# reads: list here.txt
# writes: list here.txt one diff.txt
# Redirections of every kind, here-documents, process substitution, job control, traps, an exec that moves descriptors.
set -u
printf '%s\n' pear apple fig >list
sort <list >sorted
cat <<'END' >here.txt
a here-document with $nothing expanded
END
cat >>here.txt <<<"a here-string"
sort list >one
diff <(sort list) <(sort -r list) >diff.txt
echo "diff ended with $?"
exec 3<>both
echo "written through 3" >&3
exec 4>&3 3>&-
echo "and through 4" >&4
exec 4>&-
cat both
{ echo out; echo err >&2; } >streams 2>&1
while IFS= read -r line; do echo "line: $line"; done <list
mapfile -t lines <here.txt
echo "${#lines[@]} lines"
coproc doubler { while read -r n; do echo $((n * 2)); done; }
echo 21 >&"${doubler[1]}"
read -r answer <&"${doubler[0]}"
echo "answer $answer"
exec {doubler[1]}>&-
wait
set -m
sleep 0.5 | cat >slept &
fg %1 >/dev/null 2>&1
sh -c 'kill -STOP $$; echo continued >stopped; exit 9' &
until [ "$(sed 's/.*) //; s/ .*//' /proc/$!/stat)" = T ]; do sleep 0.02; done
fg %% >/dev/null
echo "continued, and ended with $?"
set +m
trap 'echo trapped >trapped' USR1
kill -USR1 $$
(exit 7) | cat
echo "${PIPESTATUS[@]}"
printf 'x\n' | tee a b >/dev/null
rm a
umask 027
: >mode
mkfifo pipe
cat <pipe >from-pipe &
echo through a pipe >pipe
wait
sh -c 'kill -TERM $$' 2>&1
echo "signal: $?"
exec 5>last
echo replaced >&5
exec sh -c 'echo by sh >&5; exit 3'
