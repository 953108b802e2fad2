/** An event as Flink sends it from task to task: a plain class with public fields, for its fast serializer. */
public class Event {
    public long id;
    public long time;
    public int type;
    public int user;
    public int symbol;
    public long order;
    public long session;
    public double amount;
    public double price;

    public static Event at(Flat flat, int row) {
        Event event = new Event();
        event.id = row;
        event.time = flat.time(row);
        event.type = flat.type(row);
        event.user = flat.user(row);
        event.symbol = flat.symbol(row);
        event.order = flat.order(row);
        event.session = flat.session(row);
        event.amount = flat.amount(row);
        event.price = flat.price(row);
        return event;
    }
}
