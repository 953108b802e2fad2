import java.util.List;
import java.util.Map;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.ParquetColumnarRowInputFormat;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.hadoop.conf.Configuration;

/** The same jobs as `FlinkPeer`, from the Parquet file: Flink's reader of columns, and only those the question needs. */
public final class FlinkParquetPeer {
    private static final int ROWS = 2048; // of a batch, as Flink's tables have them
    private static final List<String> TYPES = List.of(
            "View", "Payment", "Login", "LoginFailed", "Order", "Confirm", "Search", "Click", "Buy", "Tick");
    private static final Map<String, LogicalType> COLUMNS = Map.of(
            "user_id", new BigIntType(), "symbol", new BigIntType(), "order_id", new BigIntType(),
            "session", new BigIntType(), "amount", new DoubleType(), "price", new DoubleType());

    private FlinkParquetPeer() {}

    public static void main(String[] args) throws Exception {
        Bench.main(args, (query, file) -> FlinkPeer.run(query, env -> events(env, columnsOf(query), file)));
    }

    private static List<String> columnsOf(String query) {
        return switch (query) {
            case "sequence", "sequence_any", "rising" -> List.of("user_id", "amount");
            case "brute_force" -> List.of("user_id");
            case "absence" -> List.of("user_id", "order_id");
            case "correlation" -> List.of("session");
            case "v_shape" -> List.of("symbol", "price");
            default -> throw new IllegalArgumentException(query);
        };
    }

    private static DataStream<Event> events(StreamExecutionEnvironment env, List<String> columns, String file) {
        RowType row = rowOf(columns);
        var format = new ParquetColumnarRowInputFormat<FileSourceSplit>(
                new Configuration(), row, InternalTypeInfo.of(row), ROWS, true, true);
        FileSource<RowData> source = FileSource.forBulkFileFormat(format, new Path(file)).build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "events")
                .map(r -> event(r, columns)).returns(Event.class)
                .assignTimestampsAndWatermarks(FlinkPeer.inOrder());
    }

    private static RowType rowOf(List<String> columns) {
        var fields = new java.util.ArrayList<RowType.RowField>();
        fields.add(new RowType.RowField("id", new BigIntType()));
        fields.add(new RowType.RowField("type", new VarCharType(VarCharType.MAX_LENGTH)));
        fields.add(new RowType.RowField("time", new TimestampType(6)));
        columns.forEach(name -> fields.add(new RowType.RowField(name, COLUMNS.get(name))));
        return new RowType(fields);
    }

    private static Event event(RowData row, List<String> columns) {
        Event event = new Event();
        event.id = row.getLong(0);
        event.type = number(row.getString(1));
        event.time = row.getTimestamp(2, 6).getMillisecond();
        for (int i = 0; i < columns.size(); i++) {
            int at = i + 3;
            if (row.isNullAt(at)) {
                continue; // only rows of types that the question does not name
            }
            switch (columns.get(i)) {
                case "user_id" -> event.user = (int) row.getLong(at);
                case "symbol" -> event.symbol = (int) row.getLong(at);
                case "order_id" -> event.order = row.getLong(at);
                case "session" -> event.session = row.getLong(at);
                case "amount" -> event.amount = row.getDouble(at);
                default -> event.price = row.getDouble(at);
            }
        }
        return event;
    }

    private static final Map<StringData, Integer> NUMBERS = numbers();

    private static Map<StringData, Integer> numbers() {
        var found = new java.util.HashMap<StringData, Integer>();
        for (int i = 0; i < TYPES.size(); i++) {
            found.put(StringData.fromString(TYPES.get(i)), i);
        }
        return found;
    }

    private static int number(StringData type) {
        return NUMBERS.get(type);
    }
}
