// Kafka's command line tools in one process that stays, because starting a process for each costs seconds.
// Reads a line per call: the tool's class, its standard input and its arguments, each in base64, separated by commas.
// Answers each with a line: what the tool printed on both streams, in base64.
// Run: java -cp '.java/lib/*' tests/clients/java/Tools.java

import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.utils.Exit;

public class Tools {
    static volatile CountDownLatch ended;

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((status, message) -> end());
        Exit.setHaltProcedure((status, message) -> end());
        Exit.setShutdownHookAdder((name, hook) -> { });
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = System.out;
        for (String line; (line = calls.readLine()) != null; ) {
            List<String> words = new ArrayList<>();
            for (String word : line.split(",", -1)) words.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
            byte[] printed = run(words.get(0), words.get(1), words.subList(2, words.size()).toArray(new String[0]));
            answers.println(Base64.getEncoder().encodeToString(printed));
            answers.flush();
        }
        System.exit(0);
    }

    /** What a tool calls to end the process: the call is over, and the tool's thread goes no further. */
    static void end() {
        ended.countDown();
        while (true) LockSupport.park();
    }

    static byte[] run(String tool, String input, String[] arguments) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(printed, true);
        System.setOut(stream);
        System.setErr(stream);
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        ended = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (InvocationTargetException e) {
                e.getCause().printStackTrace();
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
            }
            ended.countDown();
        });
        thread.setDaemon(true);
        thread.start();
        ended.await();
        return printed.toByteArray();
    }
}
