import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Flink CEP in a cluster inside this process, two tasks side by side, event time, state on the heap. */
public final class FlinkPeer {
    private static final int TASKS = 2;

    private FlinkPeer() {}

    /** Where the events come from, in order of time, or nearly so with watermarks that allow for it. */
    interface Events {
        DataStream<Event> in(StreamExecutionEnvironment env) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Bench.main(args, (query, file) -> run(query, env -> env.fromSource(source(file), inOrder(), "events")));
    }

    static WatermarkStrategy<Event> inOrder() {
        return WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((e, t) -> e.time);
    }

    /** The job's own time, from its start to its end; bringing the cluster up is not in it. */
    static double run(String query, Events given) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(TASKS);
        env.getConfig().enableObjectReuse();
        boolean[] named = Flat.typesOf(query);
        DataStream<Event> events = given.in(env).filter(e -> named[e.type]);
        CEP.pattern(keyed(events, query), Patterns.of(query))
                .process(new Report(query), TypeInformation.of(Long.class))
                .sinkTo(new DiscardingSink<>());
        return env.execute(query).getNetRuntime() / 1e3;
    }

    /** A key as the question says. The correlation has none, and Flink runs it in one task unless told the key. */
    private static DataStream<Event> keyed(DataStream<Event> events, String query) {
        return switch (query) {
            case "correlation" -> Boolean.getBoolean("keyed") ? events.keyBy(e -> e.session) : events;
            case "v_shape" -> events.keyBy(e -> e.symbol);
            default -> events.keyBy(e -> e.user);
        };
    }

    private static DataGeneratorSource<Event> source(String file) throws Exception {
        int size = new Flat(file).size();
        return new DataGeneratorSource<>(
                new Reader(file, size), size, RateLimiterStrategy.noOp(), TypeInformation.of(Event.class));
    }

    /**
     * Each of the two tasks is given one half of the numbers. The first reads the even rows, the second the odd ones,
     * so that both go through time together and no watermark has to wait for the other half of the file.
     */
    private static final class Reader implements GeneratorFunction<Long, Event> {
        private final String file;
        private final long half;
        private transient Flat flat;

        Reader(String file, int size) {
            this.file = file;
            this.half = (size + 1) / 2;
        }

        @Override
        public void open(SourceReaderContext context) throws Exception {
            flat = new Flat(file);
        }

        @Override
        public Event map(Long number) {
            return Event.at(flat, (int) (number < half ? 2 * number : 2 * (number - half) + 1));
        }
    }

    /** Notes each match down in this process, which is cheaper than any sink. */
    private static final class Report extends PatternProcessFunction<Event, Long> {
        private final String query;

        Report(String query) {
            this.query = query;
        }

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            switch (query) {
                case "sequence", "sequence_any" -> Found.add(first(match, "l"), first(match, "p"), first(match, "q"));
                case "brute_force" -> Found.add(first(match, "f"), first(match, "l"), last(match.get("f")));
                case "rising" -> Found.add(first(match, "s"), first(match, "e"), last(match.get("r")));
                case "absence" -> Found.add(first(match, "o"));
                case "correlation" -> Found.add(first(match, "s"), first(match, "c"), first(match, "b"));
                default -> Found.add(first(match, "s"), last(match.get("d")), first(match, "e"));
            }
        }

        private static long first(Map<String, List<Event>> match, String name) {
            return match.get(name).get(0).id;
        }

        private static long last(List<Event> events) {
            return events.get(events.size() - 1).id;
        }
    }
}
