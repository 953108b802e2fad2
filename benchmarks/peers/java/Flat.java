import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** The flat file of events, mapped into memory: fields are read where they lie, nothing is parsed. */
public final class Flat {
    public static final int VIEW = 0, PAYMENT = 1, LOGIN = 2, FAILED = 3, ORDER = 4;
    public static final int CONFIRM = 5, SEARCH = 6, CLICK = 7, BUY = 8, TICK = 9;
    private static final int WIDTH = 56;

    private final MappedByteBuffer bytes;

    public Flat(String file) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(file))) {
            bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
        bytes.order(ByteOrder.LITTLE_ENDIAN);
    }

    public int size() {
        return bytes.capacity() / WIDTH;
    }

    public long time(int row) {
        return bytes.getLong(row * WIDTH);
    }

    public long order(int row) {
        return bytes.getLong(row * WIDTH + 8);
    }

    public long session(int row) {
        return bytes.getLong(row * WIDTH + 16);
    }

    public double amount(int row) {
        return bytes.getDouble(row * WIDTH + 24);
    }

    public double price(int row) {
        return bytes.getDouble(row * WIDTH + 32);
    }

    public int user(int row) {
        return bytes.getInt(row * WIDTH + 40);
    }

    public int symbol(int row) {
        return bytes.getInt(row * WIDTH + 44);
    }

    public int type(int row) {
        return bytes.getInt(row * WIDTH + 48);
    }

    /** The types a query names; the others are left out before the engine sees them, which favours it. */
    public static boolean[] typesOf(String query) {
        boolean[] named = new boolean[TICK + 1];
        int[] types = switch (query) {
            case "sequence", "sequence_any" -> new int[] {LOGIN, PAYMENT};
            case "brute_force" -> new int[] {LOGIN, FAILED};
            case "rising" -> new int[] {PAYMENT};
            case "absence" -> new int[] {ORDER, CONFIRM};
            case "correlation" -> new int[] {SEARCH, CLICK, BUY};
            case "v_shape" -> new int[] {TICK};
            default -> throw new IllegalArgumentException(query);
        };
        for (int type : types) {
            named[type] = true;
        }
        return named;
    }
}
