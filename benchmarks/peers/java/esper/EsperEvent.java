/** An event as Esper reads it: a plain class with getters. */
public final class EsperEvent {
    private final Flat flat;
    private final int row;
    private final int type;

    /** Only the type is read before it is asked for, so a field costs nothing where no filter looks at it. */
    EsperEvent(Flat flat, int row, int type) {
        this.flat = flat;
        this.row = row;
        this.type = type;
    }

    public long getId() {
        return row;
    }

    public long getTime() {
        return flat.time(row);
    }

    public int getType() {
        return type;
    }

    public int getUser() {
        return flat.user(row);
    }

    public int getSymbol() {
        return flat.symbol(row);
    }

    public long getOrderId() {
        return flat.order(row);
    }

    public long getSession() {
        return flat.session(row);
    }

    public double getAmount() {
        return flat.amount(row);
    }

    public double getPrice() {
        return flat.price(row);
    }
}
