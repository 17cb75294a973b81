import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.nio.charset.StandardCharsets;

/**
 * Methods with which a Java program declares facts about itself: the functions described in provio.h next to this file,
 * called through JNA. If nothing is recorded, or JNA is missing, every method does nothing and returns 0. None throws.
 *
 * <pre>try (Provio.Activity a = Provio.activity("train")) { Provio.metric("loss", 0.25, 7); }</pre>
 *
 * A thread created within an activity is in it until the activity ends. Threads of an existing pool must enter it:
 * {@code long before = Provio.enter(a.number); try { … } finally { Provio.enter(before); }}.
 */
public final class Provio {
    private Provio() {}

    /** No step. */
    public static final long NO_STEP = Long.MIN_VALUE;

    private static final boolean THERE = there();

    private static boolean there() {
        try {
            NativeLibrary.getProcess().getFunction("provio_task_in");
            Native.register(Known.class, NativeLibrary.getProcess());
            return true;
        } catch (Throwable nothing) {
            return false;
        }
    }

    private static final class Known {
        static native long provio_task_in(byte[] name, byte[] kind);
        static native void provio_task_out(long task, long before, byte[] status);
        static native long provio_task_enter(long task);
        static native long provio_task_now();
        static native long provio_configuration(byte[] name, byte[] kind);
        static native void provio_configuration_end(long configuration);
        static native void provio_setting_text(long of, byte[] key, byte[] value);
        static native void provio_setting_integer(long of, byte[] key, long value);
        static native void provio_setting_real(long of, byte[] key, double value);
        static native void provio_setting_truth(long of, byte[] key, int value);
        static native void provio_setting_typed(long of, byte[] key, byte[] value, byte[] type);
        static native void provio_metric(byte[] name, byte[] kind, double value, long step);
        static native void provio_metric_integer(byte[] name, byte[] kind, long value, long step);
        static native void provio_metric_of(long checkpoint, byte[] name, byte[] kind, double value, long step);
        static native long provio_checkpoint(byte[] path, long step);
        static native long provio_entity(byte[] name, byte[] kind, byte[] identifier);
        static native void provio_used(long thing, byte[] path);
        static native void provio_generated(long thing, byte[] path);
    }

    private static byte[] text(Object value) {
        return value == null ? null : (value + "\0").getBytes(StandardCharsets.UTF_8);
    }

    /** A Task from here to {@link #close}; {@code number} is 0 if nothing is recorded. */
    public static final class Activity implements AutoCloseable {
        public final long number;
        private final long before;
        private String status = "ok";

        private Activity(String name, String kind) {
            before = now();
            number = THERE ? Known.provio_task_in(text(name), text(kind)) : 0;
        }

        /** Set the status, if it is not "ok". */
        public void status(String said) {
            status = said;
        }

        @Override
        public void close() {
            if (number != 0) Known.provio_task_out(number, before, text(status));
        }
    }

    public static Activity activity(String name) {
        return new Activity(name, null);
    }

    public static Activity activity(String name, String kind) {
        return new Activity(name, kind);
    }

    /** Enter a Task (0: none); returns the previous one. */
    public static long enter(long task) {
        return THERE ? Known.provio_task_enter(task) : 0;
    }

    /** The thread's current Task. */
    public static long now() {
        return THERE ? Known.provio_task_now() : 0;
    }

    /** The settings in force from here on; the keys of a nested map are joined to its key by a full stop. */
    public static long configuration(String name, String kind, java.util.Map<?, ?> settings) {
        long made = THERE ? Known.provio_configuration(text(name), text(kind)) : 0;
        if (made == 0) return 0;
        try {
            settings(made, "", settings, 0);
            Known.provio_configuration_end(made);
        } catch (RuntimeException broken) { // thrown by a value's toString(), or because the map was changed concurrently
            return made;
        }
        return made;
    }

    private static void settings(long of, String above, java.util.Map<?, ?> settings, int depth) {
        for (java.util.Map.Entry<?, ?> one : settings.entrySet()) {
            String name = above + String.valueOf(one.getKey()).replace("\\", "\\\\").replace(".", "\\.");
            if (one.getValue() instanceof java.util.Map && depth < 32)
                settings(of, name + ".", (java.util.Map<?, ?>) one.getValue(), depth + 1);
            else
                setting(of, name, one.getValue());
        }
    }

    /** A setting of a configuration, an activity, a checkpoint or an entity: a number, a Boolean or a text. */
    public static void setting(long of, String key, Object value) {
        if (!THERE || of == 0) return;
        byte[] name = text(key);
        if (value instanceof Boolean) Known.provio_setting_truth(of, name, (Boolean) value ? 1 : 0);
        else if (value instanceof Double || value instanceof Float)
            Known.provio_setting_real(of, name, ((Number) value).doubleValue());
        else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte)
            Known.provio_setting_integer(of, name, ((Number) value).longValue());
        else if (value instanceof java.math.BigInteger) typed(of, key, value.toString(), "integer");
        else if (value instanceof java.time.Instant) typed(of, key, value.toString(), "dateTime");
        else Known.provio_setting_text(of, name, text(value));
    }

    /** A setting in the notation of XML Schema, with the name of its XML Schema type. */
    public static void typed(long of, String key, String value, String type) {
        if (THERE) Known.provio_setting_typed(of, text(key), text(value), text(type));
    }

    public static void metric(String name, double value, long step) {
        metric(name, null, value, step);
    }

    public static void metric(String name, String kind, double value, long step) {
        if (THERE) Known.provio_metric(text(name), text(kind), value, step);
    }

    public static void metric(String name, String kind, long value, long step) {
        if (THERE) Known.provio_metric_integer(text(name), text(kind), value, step);
    }

    /** Declare that the file or folder at a path contains a saved state. */
    public static long checkpoint(String path, long step) {
        return THERE ? Known.provio_checkpoint(text(path), step) : 0;
    }

    /** A metric of the state saved in a checkpoint. */
    public static void metricOf(long checkpoint, String name, double value) {
        if (THERE) Known.provio_metric_of(checkpoint, text(name), null, value, NO_STEP);
    }

    /** A thing that is not a file. */
    public static long entity(String name, String kind, String identifier) {
        return THERE ? Known.provio_entity(text(name), text(kind), text(identifier)) : 0;
    }

    public static void used(long thing) {
        if (THERE) Known.provio_used(thing, null);
    }

    public static void used(String path) {
        if (THERE) Known.provio_used(0, text(path));
    }

    public static void generated(long thing) {
        if (THERE) Known.provio_generated(thing, null);
    }

    public static void generated(String path) {
        if (THERE) Known.provio_generated(0, text(path));
    }
}
