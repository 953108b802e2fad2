import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** The matches of the run under way: whole numbers, one match after the other. Threads of one process share it. */
public final class Found {
    private static long[] values = new long[1 << 16];
    private static int count;

    private Found() {}

    public static synchronized void clear() {
        count = 0;
    }

    public static synchronized void add(long... match) {
        if (count + match.length > values.length) {
            values = Arrays.copyOf(values, values.length * 2);
        }
        System.arraycopy(match, 0, values, count, match.length);
        count += match.length;
    }

    public static synchronized void write(String file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(values, 0, count);
        try (FileChannel out = FileChannel.open(Path.of(file), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            while (bytes.hasRemaining()) {
                out.write(bytes);
            }
        }
    }
}
