import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;

/** Siddhi, one thread, played back: its clock is set by the events. The numbers of the types are those of `Flat`. */
public final class SiddhiPeer {
    private static final String STREAM = """
            @app:playback
            define stream E (id long, time long, type int, user int, symbol int, orderId long, session long,
                amount double, price double);
            """;
    /** A run takes the first event that fits; `every` opens one at each login; the bound of `within` is in it. */
    private static final String SEQUENCE = """
            partition with (user of E) begin
            from every l=E[type == 2] -> p=E[type == 1 and amount > 700] -> q=E[type == 1 and amount > p.amount]
                within 1 day
            select l.id as a, p.id as b, q.id as c insert into Found;
            end;""";
    /** While a run is open no newer one begins, so failures too old for the window hide those after them. */
    private static final String BRUTE_FORCE = """
            partition with (user of E) begin
            from every f=E[type == 3], g=E[type == 3], h=E[type == 3]+, l=E[type == 2] within 1 hour
            select f.id as a, l.id as b, h[last].id as c insert into Found;
            end;""";
    /** A sequence (commas) counts only to one or more, so the first two rises are steps of their own. */
    private static final String RISING = """
            partition with (user of E) begin
            from every s=E, p=E[amount > s.amount], q=E[amount > p.amount],
                r=E[ifThenElse(r[last].amount is null, q.amount < amount, r[last].amount < amount)]+,
                e=E[r[last].amount >= amount]
            select s.id as a, e.id as b, r[last].id as c insert into Found;
            end;""";
    /** The timer fires before the event of its own millisecond, so the bound is a millisecond longer. */
    private static final String ABSENCE = """
            partition with (user of E) begin
            from every o=E[type == 4] -> not E[type == 5 and orderId == o.orderId] for 3600001 milliseconds
            select o.id as a insert into Found;
            end;""";
    private static final String V_SHAPE = """
            partition with (symbol of E) begin
            from every s=E, b=E[price < s.price], c=E[price < b.price],
                d=E[ifThenElse(d[last].price is null, c.price > price, d[last].price > price)]+,
                v=E[price > d[last].price], w=E[price > v.price],
                u=E[ifThenElse(u[last].price is null, w.price < price, u[last].price < price)]+,
                e=E[u[last].price >= price]
            select s.id as a, d[last].id as b, e.id as c insert into Found;
            end;""";

    private SiddhiPeer() {}

    public static void main(String[] args) throws Exception {
        Bench.main(args, SiddhiPeer::run);
    }

    private static double run(String query, String file) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(STREAM + text(query));
        app.addCallback("Found", new StreamCallback() {
            @Override
            public void receive(Event[] events) {
                for (Event event : events) {
                    report(event.getData());
                }
            }
        });
        app.start();
        Flat flat = new Flat(file);
        long began = System.nanoTime();
        send(flat, Flat.typesOf(query), app.getInputHandler("E"));
        double seconds = (System.nanoTime() - began) / 1e9;
        app.shutdown();
        manager.shutdown();
        return seconds;
    }

    /** The last event is sent whatever its type: it sets the clock. */
    private static void send(Flat flat, boolean[] named, InputHandler input) throws InterruptedException {
        for (int row = 0; row < flat.size(); row++) {
            if (named[flat.type(row)] || row == flat.size() - 1) {
                input.send(flat.time(row), new Object[] {
                    (long) row, flat.time(row), flat.type(row), flat.user(row), flat.symbol(row),
                    flat.order(row), flat.session(row), flat.amount(row), flat.price(row)});
            }
        }
    }

    private static void report(Object[] row) {
        long[] match = new long[row.length];
        for (int i = 0; i < row.length; i++) {
            match[i] = ((Number) row[i]).longValue();
        }
        Found.add(match);
    }

    private static String text(String query) {
        return switch (query) {
            case "sequence" -> SEQUENCE;
            case "brute_force" -> BRUTE_FORCE;
            case "rising" -> RISING;
            case "absence" -> ABSENCE;
            case "v_shape" -> V_SHAPE;
            default -> throw new IllegalArgumentException(query);
        };
    }
}
