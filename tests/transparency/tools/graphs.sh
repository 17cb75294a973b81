# needs: dot graphviz
# needs: rapper raptor2-utils
# needs: serdi serdi
# reads: graph.dot facts.ttl
# writes: graph.svg facts.nt
# Converters: a drawn graph in several formats, Turtle by two parsers, input from pipes, wrong input.
set -u
umask 022
{ echo 'digraph g {'; for i in $(seq 1 40); do echo "n$i -> n$((i * 7 % 40)) [label=\"e$i\"];"; done; echo '}'; } >graph.dot
dot -Tsvg graph.dot -o graph.svg
dot -Tplain <graph.dot | wc -l
dot -Tdot -O graph.dot && ls
echo 'digraph {' | dot -Tsvg 2>/dev/null
echo "dot ended with $?"
for i in $(seq 1 200); do echo "<http://a/$i> <http://b/p> \"text $i\", <http://a/$((i + 1))> ."; done >facts.ttl
serdi -i turtle -o ntriples facts.ttl >facts.nt
rapper -q -i turtle -o ntriples facts.ttl | cmp - facts.nt
rapper -q -i ntriples -o turtle facts.nt http://a/ | serdi -i turtle -o ntriples - | sort | cksum
echo '<a> <b' | serdi -i turtle - >/dev/null 2>&1
echo "serdi ended with $?"
rapper -qc -i turtle nothing 2>/dev/null
echo "rapper ended with $?"
