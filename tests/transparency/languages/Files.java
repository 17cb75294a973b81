// needs: javac default-jdk-headless
// slow: a virtual machine that compiles its program first
// also: run
// reads: in
// order: any
// writes: in streamed channel mapped from-child
// java: streams, nio channels, maps, transfers, locks, threads, a thread pool, processes with pipes and redirections, walks, errors.
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.nio.file.attribute.FileTime;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import java.util.zip.*;

public class Files {
    static int square(int n) throws IOException {
        Path path = Path.of("thread-" + n);
        java.nio.file.Files.writeString(path, "" + n * n);
        return Integer.parseInt(java.nio.file.Files.readString(path));
    }

    public static void main(String[] arguments) throws Exception {
        try (PrintWriter writer = new PrintWriter("in")) { for (int i = 0; i < 20000; i++) writer.println(i); }
        long sum = 0;
        try (BufferedReader reader = new BufferedReader(new FileReader("in"))) { for (String line; (line = reader.readLine()) != null;) sum += Long.parseLong(line); }
        System.out.println(sum);
        try (InputStream in = new FileInputStream("in"); OutputStream out = new BufferedOutputStream(new FileOutputStream("streamed"))) { in.transferTo(out); }
        try (RandomAccessFile file = new RandomAccessFile("random", "rw")) {
            file.writeInt(7); file.seek(100); file.writeUTF("text"); file.seek(0); System.out.println(file.readInt() + " " + file.length()); file.setLength(50);
        }
        Path channel = Path.of("channel");
        try (FileChannel out = FileChannel.open(channel, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE); FileChannel in = FileChannel.open(Path.of("in")); FileLock lock = out.lock()) {
            out.write(new ByteBuffer[] {ByteBuffer.wrap("abc".getBytes()), ByteBuffer.wrap("def".getBytes())});
            out.write(ByteBuffer.wrap("at 100".getBytes()), 100);
            System.out.println(in.transferTo(0, 1000, out.position(200)) + " " + out.size());
            out.force(true);
        }
        try (FileChannel map = FileChannel.open(Path.of("mapped"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer buffer = map.map(FileChannel.MapMode.READ_WRITE, 0, 10000);
            for (int i = 0; i < 10000; i++) buffer.put(i, (byte) i);
            buffer.force();
            System.out.println(map.map(FileChannel.MapMode.READ_ONLY, 5000, 100).get(0));
        }
        Thread[] threads = new Thread[16];
        for (int i = 0; i < 16; i++) { int n = i; threads[i] = new Thread(() -> { try { square(n); } catch (IOException e) { throw new UncheckedIOException(e); } }); threads[i].start(); }
        for (Thread thread : threads) thread.join();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 16; i < 40; i++) { int n = i; results.add(pool.submit(() -> square(n))); }
        int total = 0; for (Future<Integer> result : results) total += result.get();
        pool.shutdown(); System.out.println(total);
        System.out.println(IntStream.range(0, 16).parallel().map(n -> { try { return square(n); } catch (IOException e) { return -1; } }).sum());
        try (AsynchronousFileChannel file = AsynchronousFileChannel.open(Path.of("asynchronous"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) { System.out.println(file.write(ByteBuffer.wrap("later".getBytes()), 3).get()); }
        try (GZIPOutputStream out = new GZIPOutputStream(new FileOutputStream("z.gz"))) { out.write(new byte[5000]); }
        try (GZIPInputStream in = new GZIPInputStream(new FileInputStream("z.gz"))) { System.out.println(in.readAllBytes().length); }
        Process process = new ProcessBuilder("sh", "-c", "cat; echo err >&2; exit 3").redirectInput(new File("random")).redirectOutput(new File("from-child")).redirectErrorStream(true).start();
        System.out.println(process.waitFor());
        Process piped = Runtime.getRuntime().exec(new String[] {"sort", "-rn"});
        try (Writer writer = new OutputStreamWriter(piped.getOutputStream())) { writer.write("1\n3\n2\n"); }
        System.out.println(new String(piped.getInputStream().readAllBytes()).replace('\n', ' ') + piped.waitFor());
        Process killed = new ProcessBuilder("sleep", "10").start(); killed.destroyForcibly(); System.out.println(killed.waitFor());
        java.nio.file.Files.createDirectories(Path.of("a/b/c"));
        java.nio.file.Files.copy(Path.of("in"), Path.of("a/b/copy")); java.nio.file.Files.move(Path.of("a/b/copy"), Path.of("a/moved")); java.nio.file.Files.createLink(Path.of("a/hard"), Path.of("in"));
        java.nio.file.Files.createSymbolicLink(Path.of("a/soft"), Path.of("moved")); java.nio.file.Files.setLastModifiedTime(Path.of("a/moved"), FileTime.fromMillis(1000000000000L));
        java.nio.file.Files.delete(Path.of("a/b/c"));
        try (Stream<Path> walk = java.nio.file.Files.walk(Path.of("a"))) { System.out.println(walk.map(Path::toString).sorted().collect(Collectors.joining(" "))); }
        Path temporary = java.nio.file.Files.createTempFile(Path.of("."), "t", ".x"); java.nio.file.Files.delete(temporary);
        try { java.nio.file.Files.readString(Path.of("nothing")); } catch (NoSuchFileException e) { System.out.println("no " + e.getMessage()); }
        try { new FileOutputStream("a"); } catch (FileNotFoundException e) { System.out.println(e.getMessage()); }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { try { java.nio.file.Files.writeString(Path.of("hook"), "at the end"); } catch (IOException e) { throw new UncheckedIOException(e); } }));
        System.err.println("ends");
        System.exit(7);
    }
}
