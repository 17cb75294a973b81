# needs: gcc gcc
# needs: make make
# also: run
# also: call
# order: any
# reads: src/f1.c
# writes: src/f1.o src/libf.a
# A C project built by make with four jobs: compiler, assembler, archiver, linker, a generated header, a failing target.
set -u
umask 022
mkdir src && cd src
for i in $(seq 1 12); do
    echo "#include \"all.h\"
int f$i(int x) { return x + $i; }" >f$i.c
done
{ echo '#include <stdio.h>'; echo '#include "all.h"'; echo 'int main(void) { int x = 0;'; for i in $(seq 1 12); do echo "x = f$i(x);"; done
  echo 'printf("%d\n", x); return 0; }'; } >main.c
cat >Makefile <<'END'
objects := $(patsubst %.c,%.o,$(sort $(wildcard f*.c)))
program: main.o libf.a
	$(CC) -o $@ main.o libf.a
libf.a: $(objects)
	ar rcsD $@ $^
%.o: %.c all.h
	$(CC) -O1 -g -c -o $@ $<
all.h: Makefile
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "int f$$i(int);"; done >$@
wrong: wrong.o
.PHONY: again
again:
	$(MAKE) -s clean
	$(MAKE) -s -j2 program
clean:
	rm -f program *.o *.a all.h
END
make -s -j4 program
./program
make -s -j4 -q program && echo up to date
make -s again
./program
echo 'int wrong(void) { return' >wrong.c
make -s -j4 wrong 2>/dev/null
echo "make ended with $?"
make -k nothing
echo "make ended with $?"
gcc -E f1.c -o f1.i && gcc -S f1.c && gcc -pipe -c f1.c -o piped.o && gcc -shared -fPIC -o libs.so f1.c f2.c
nm libs.so | grep -w f2 | cut -d' ' -f2-
strip -o stripped program && ./stripped
objdump -f stripped | grep format
