import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;

/** Esper, one thread, its clock set by the events. The numbers of the types are those of `Flat`. */
public final class EsperPeer {
    /** A timer fires before the event of its own millisecond, so each bound is a millisecond longer. */
    private static final String SEQUENCE = """
            select l.id as a, p.id as b, q.id as c from pattern [
                every l=E(type = 2) -> (
                    (p=E(type = 1, user = l.user, amount > 700) -> q=E(type = 1, user = l.user, amount > p.amount))
                    where timer:within(86400001 milliseconds))]""";
    /** Over the stream of logins and failures alone, so that rows of the pattern are neighbours in it. */
    private static final String BRUTE_FORCE = """
            select a, b, c from E(type in (2, 3)) match_recognize (
                partition by user measures f[0].id as a, l.id as b, last(f.id) as c
                after match skip past last row pattern (f{3,} l)
                define f as f.type = 3, l as l.type = 2 and l.time - f[0].time <= 3600000)""";
    /** A match may begin anywhere; the condition on s keeps those out that begin inside a trend. */
    private static final String RISING = """
            select a, b, c from E(type = 1) match_recognize (
                partition by user measures s.id as a, e.id as b, last(r.id) as c
                after match skip to next row pattern (s r{3,} e)
                define s as prev(s.amount) is null or s.amount <= prev(s.amount),
                    r as r.amount > prev(r.amount), e as e.amount <= prev(e.amount))""";
    private static final String ABSENCE = """
            select o.id as a from pattern [
                every o=E(type = 4) -> (timer:interval(3600001 milliseconds)
                    and not E(type = 5, user = o.user, orderId = o.orderId))]""";
    /** `every` before each step takes every event that fits. */
    private static final String CORRELATION = """
            select s.id as a, c.id as b, b.id as c from pattern [
                every s=E(type = 6) -> (
                    (every c=E(type = 7, session = s.session) -> every b=E(type = 8, session = s.session))
                    where timer:within(600001 milliseconds))]""";
    private static final String V_SHAPE = """
            select a, b, c from E(type = 9) match_recognize (
                partition by symbol measures s.id as a, last(d.id) as b, e.id as c
                after match skip to next row pattern (s d{3,} u{3,} e)
                define s as prev(s.price) is null or s.price >= prev(s.price), d as d.price < prev(d.price),
                    u as u.price > prev(u.price), e as e.price <= prev(e.price))""";

    private EsperPeer() {}

    public static void main(String[] args) throws Exception {
        Bench.main(args, EsperPeer::run);
    }

    private static double run(String query, String file) throws Exception {
        Configuration settings = new Configuration();
        settings.getCommon().addEventType("E", EsperEvent.class);
        settings.getRuntime().getThreading().setInternalTimerEnabled(false);
        EPCompiled compiled = EPCompilerProvider.getCompiler().compile(text(query), new CompilerArguments(settings));
        EPRuntime runtime = EPRuntimeProvider.getRuntime(query + System.nanoTime(), settings);
        EPEventService service = runtime.getEventService();
        Flat flat = new Flat(file);
        service.advanceTime(flat.time(0) - 1);
        EPStatement statement = runtime.getDeploymentService().deploy(compiled).getStatements()[0];
        String[] columns = query.equals("absence") ? new String[] {"a"} : new String[] {"a", "b", "c"};
        statement.addListener((found, gone, of, by) -> {
            for (EventBean row : found) {
                report(row, columns);
            }
        });
        long began = System.nanoTime();
        send(flat, Flat.typesOf(query), service);
        double seconds = (System.nanoTime() - began) / 1e9;
        runtime.destroy();
        return seconds;
    }

    /** The clock also stands where the last event is, whatever its type. */
    private static void send(Flat flat, boolean[] named, EPEventService service) {
        for (int row = 0; row < flat.size(); row++) {
            int type = flat.type(row);
            if (named[type]) {
                service.advanceTime(flat.time(row));
                service.sendEventBean(new EsperEvent(flat, row, type), "E");
            }
        }
        service.advanceTime(flat.time(flat.size() - 1));
    }

    private static void report(EventBean row, String[] columns) {
        long[] match = new long[columns.length];
        for (int i = 0; i < columns.length; i++) {
            match[i] = ((Number) row.get(columns[i])).longValue();
        }
        Found.add(match);
    }

    private static String text(String query) {
        return switch (query) {
            case "sequence" -> SEQUENCE;
            case "brute_force" -> BRUTE_FORCE;
            case "rising" -> RISING;
            case "absence" -> ABSENCE;
            case "correlation" -> CORRELATION;
            default -> V_SHAPE;
        };
    }
}
