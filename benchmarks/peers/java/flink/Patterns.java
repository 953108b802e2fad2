import java.time.Duration;
import java.util.Iterator;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

/**
 * The questions as Flink CEP patterns. Its `within` leaves the bound itself out, so each is a millisecond longer.
 * The stream holds only the types a pattern names, so `next` and `consecutive` mean the next of those.
 */
final class Patterns {
    private static final long MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

    private Patterns() {}

    static Pattern<Event, ?> of(String query) {
        return switch (query) {
            case "sequence" -> sequence();
            case "sequence_any" -> sequenceOfAny();
            case "brute_force" -> bruteForce();
            case "rising" -> rising();
            case "absence" -> absence();
            case "correlation" -> correlation();
            case "v_shape" -> vShape();
            default -> throw new IllegalArgumentException(query);
        };
    }

    /** followedBy takes the first that fits; noSkip lets runs share events. */
    private static Pattern<Event, ?> sequence() {
        return Pattern.<Event>begin("l", AfterMatchSkipStrategy.noSkip()).where(type(Flat.LOGIN))
                .followedBy("p").where(SimpleCondition.of(e -> e.type == Flat.PAYMENT && e.amount > 700))
                .followedBy("q").where(when((e, c) -> e.type == Flat.PAYMENT && e.amount > last(c, "p").amount))
                .within(bound(DAY));
    }

    /** followedByAny takes every event that fits, and goes on waiting. */
    private static Pattern<Event, ?> sequenceOfAny() {
        return Pattern.<Event>begin("l", AfterMatchSkipStrategy.noSkip()).where(type(Flat.LOGIN))
                .followedByAny("p").where(SimpleCondition.of(e -> e.type == Flat.PAYMENT && e.amount > 700))
                .followedByAny("q").where(when((e, c) -> e.type == Flat.PAYMENT && e.amount > last(c, "p").amount))
                .within(bound(DAY));
    }

    /** The oldest run takes all failures in a row, and a match ends the runs that began within it. */
    private static Pattern<Event, ?> bruteForce() {
        return Pattern.<Event>begin("f", AfterMatchSkipStrategy.skipPastLastEvent()).where(type(Flat.FAILED))
                .timesOrMore(3).consecutive().greedy()
                .next("l").where(type(Flat.LOGIN))
                .within(bound(HOUR));
    }

    /** The next trend may begin with the payment that ended this one, none may begin inside it. */
    private static Pattern<Event, ?> rising() {
        return Pattern.<Event>begin("s", AfterMatchSkipStrategy.skipToLast("e")).where(type(Flat.PAYMENT))
                .next("r").where(when((e, c) -> e.amount > lastOr(c, "r", "s").amount)).timesOrMore(3).consecutive()
                .next("e").where(when((e, c) -> e.amount <= last(c, "r").amount));
    }

    /** An absence at the end is given out when its window is over. */
    private static Pattern<Event, ?> absence() {
        return Pattern.<Event>begin("o", AfterMatchSkipStrategy.noSkip()).where(type(Flat.ORDER))
                .notFollowedBy("c").where(when((e, c) -> e.type == Flat.CONFIRM && e.order == last(c, "o").order))
                .within(bound(HOUR));
    }

    /** followedByAny takes every event that fits. */
    private static Pattern<Event, ?> correlation() {
        return Pattern.<Event>begin("s", AfterMatchSkipStrategy.noSkip()).where(type(Flat.SEARCH))
                .followedByAny("c").where(when((e, c) -> e.type == Flat.CLICK && e.session == last(c, "s").session))
                .followedByAny("b").where(when((e, c) -> e.type == Flat.BUY && e.session == last(c, "s").session))
                .within(bound(10 * MINUTE));
    }

    /** The next shape may begin at the top of this one, none may begin inside it. */
    private static Pattern<Event, ?> vShape() {
        return Pattern.<Event>begin("s", AfterMatchSkipStrategy.skipToLast("u")).where(type(Flat.TICK))
                .next("d").where(when((e, c) -> e.price < lastOr(c, "d", "s").price)).timesOrMore(3).consecutive()
                .next("u").where(when((e, c) -> e.price > lastOr(c, "u", "d").price)).timesOrMore(3).consecutive()
                .next("e").where(when((e, c) -> e.price <= last(c, "u").price));
    }

    private static Duration bound(long milliseconds) {
        return Duration.ofMillis(milliseconds + 1);
    }

    private static SimpleCondition<Event> type(int type) {
        return SimpleCondition.of(e -> e.type == type);
    }

    /** A condition that looks at events taken before. */
    private interface Test extends java.io.Serializable {
        boolean holds(Event event, IterativeCondition.Context<Event> context) throws Exception;
    }

    private static IterativeCondition<Event> when(Test test) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event event, Context<Event> context) throws Exception {
                return test.holds(event, context);
            }
        };
    }

    private static Event last(IterativeCondition.Context<Event> context, String name) throws Exception {
        Event last = null;
        for (Iterator<Event> taken = context.getEventsForPattern(name).iterator(); taken.hasNext(); ) {
            last = taken.next();
        }
        return last;
    }

    private static Event lastOr(IterativeCondition.Context<Event> context, String name, String before) throws Exception {
        Event last = last(context, name);
        return last == null ? last(context, before) : last;
    }
}
