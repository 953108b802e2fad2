import java.lang.management.ManagementFactory;

/** What the three programs share: once over a few events, then as often as asked for, the best time printed. */
public final class Bench {
    /** One run of a query over a file: the matches go to `Found`, the seconds come back. */
    public interface Run {
        double seconds(String query, String file) throws Exception;
    }

    private Bench() {}

    /** Arguments: the query, the few events, the events, where the matches go, how often. */
    public static void main(String[] args, Run run) throws Exception {
        double start = (System.currentTimeMillis() - ManagementFactory.getRuntimeMXBean().getStartTime()) / 1e3;
        long began = System.nanoTime();
        run.seconds(args[0], args[1]);
        double warmUp = (System.nanoTime() - began) / 1e9;
        double best = Double.MAX_VALUE;
        for (int i = 0; i < Integer.parseInt(args[4]); i++) {
            Found.clear();
            best = Math.min(best, run.seconds(args[0], args[2]));
        }
        Found.write(args[3]);
        System.out.println("seconds " + best + " warm_up " + warmUp + " start " + start);
        System.exit(0); // engines leave threads behind
    }
}
