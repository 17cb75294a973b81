import java.io.FileOutputStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** `Train FOLDER`: a program that says what it does, two threads of which each has an activity and a file of its own. */
public class Train {
    static void part(String folder, String name) {
        try (Provio.Activity activity = Provio.activity(name, "part");
                FileOutputStream file = new FileOutputStream(folder + "/" + name)) {
            Provio.setting(activity.number, "fold", 3);
            for (int step = 0; step < 50; step++) file.write(step);
            Provio.metric("loss", "Loss", 0.25, 7);
        } catch (Exception problem) {
            throw new RuntimeException(problem);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new LinkedHashMap<>(), inner = new LinkedHashMap<>();
        settings.put("lr", 1e-3);
        settings.put("epochs", 5);
        settings.put("shuffled", true);
        settings.put("name.of", "gr\u00e4ph\n");
        inner.put("most", new java.math.BigInteger("123456789012345678901234567890"));
        settings.put("optimizer", inner);
        long configuration = Provio.configuration("args", "Hyperparameter", settings);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            String name = "thread" + i;
            threads[i] = new Thread(() -> part(arguments[0], name));
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        long checkpoint = Provio.checkpoint(arguments[0], 7);
        Provio.metricOf(checkpoint, "accuracy", 0.93);
        Provio.used(Provio.entity("row", "Row", "db:7"));
        Provio.generated(arguments[0] + "/thread0");
        System.out.println(configuration == 0 ? "alone" : "heard");
    }
}
