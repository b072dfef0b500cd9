import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.OptionalLong;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;

/**
 * Kafka's own reader of log segments, for tests: what FileRecords makes of a file, as JSON.
 *
 * Takes lines of "records PATH" or "verify PATH" on standard input. Answers "records" with a line for each batch and
 * its records, then a line with validBytes, fileBytes and error; "verify" with that last line only, after every batch
 * had its checksum looked at. Bytes are hexadecimal digits.
 */
public class SegmentReader {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] order = line.split(" ", 2);
            read(new File(order[1]), order[0].equals("records"));
            OUT.flush();
        }
    }

    private static void read(File file, boolean shown) throws Exception {
        int position = 0;
        int batches = 0;
        String error = null;
        try (FileRecords records = FileRecords.open(file, false)) {
            Iterator<FileChannelRecordBatch> found = records.batches().iterator();
            while (found.hasNext()) {
                FileChannelRecordBatch batch = found.next();
                if (shown)
                    OUT.println(show(batch));
                else
                    batch.ensureValid();
                position = batch.position() + batch.sizeInBytes();
                batches++;
            }
        } catch (RuntimeException broken) {
            error = broken.toString();
        }
        OUT.println(fields("batches", batches, "validBytes", position, "fileBytes", file.length(), "error", error));
    }

    private static String show(FileChannelRecordBatch batch) {
        String place = fields("position", batch.position(), "size", batch.sizeInBytes(), "magic", batch.magic());
        return join(place, head(batch), records(batch));
    }

    private static String head(FileChannelRecordBatch batch) {
        boolean valid = isValid(batch);
        try {
            OptionalLong horizon = batch.deleteHorizonMs();
            return fields(
                "valid", valid, "codec", batch.compressionType().name, "crc", batch.checksum(),
                "baseOffset", batch.baseOffset(), "lastOffset", batch.lastOffset(), "count", batch.countOrNull(),
                "timestampType", batch.timestampType().name, "maxTimestamp", batch.maxTimestamp(),
                "producerId", batch.producerId(), "producerEpoch", batch.producerEpoch(),
                "baseSequence", batch.baseSequence(), "lastSequence", batch.lastSequence(),
                "transactional", batch.isTransactional(), "control", batch.isControlBatch(),
                "leaderEpoch", batch.partitionLeaderEpoch(),
                "deleteHorizonMs", horizon.isPresent() ? horizon.getAsLong() : null);
        } catch (RuntimeException broken) {
            return fields("valid", valid, "headerError", broken.toString());
        }
    }

    private static boolean isValid(FileChannelRecordBatch batch) {
        try {
            batch.ensureValid();
            return true;
        } catch (RuntimeException broken) {
            return false;
        }
    }

    private static String records(FileChannelRecordBatch batch) {
        StringBuilder shown = new StringBuilder();
        String error = null;
        try {
            for (Record record : batch)
                shown.append(shown.length() == 0 ? "" : ",").append(show(record));
        } catch (RuntimeException broken) {
            error = broken.toString();
        }
        String list = "{\"records\":[" + shown + "]}";
        return error == null ? list : join(list, fields("recordError", error));
    }

    private static String show(Record record) {
        StringBuilder headers = new StringBuilder();
        for (Header header : record.headers()) {
            headers.append(headers.length() == 0 ? "[" : ",[").append(json(header.key())).append(",");
            headers.append(json(header.value() == null ? null : hex(ByteBuffer.wrap(header.value())))).append("]");
        }
        String content = fields(
            "offset", record.offset(), "timestamp", record.timestamp(), "sequence", record.sequence(),
            "key", record.hasKey() ? hex(record.key()) : null, "value", record.hasValue() ? hex(record.value()) : null);
        return join(content, "{\"headers\":[" + headers + "]}");
    }

    private static String hex(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return HexFormat.of().formatHex(copy);
    }

    /** An object of names and values that take turns. */
    private static String fields(Object... parts) {
        StringBuilder object = new StringBuilder("{");
        for (int i = 0; i < parts.length; i += 2)
            object.append(i == 0 ? "" : ",").append(json(parts[i])).append(":").append(json(parts[i + 1]));
        return object.append("}").toString();
    }

    /** One object of the fields of several. */
    private static String join(String... objects) {
        StringBuilder joined = new StringBuilder("{");
        for (String object : objects)
            joined.append(joined.length() == 1 ? "" : ",").append(object, 1, object.length() - 1);
        return joined.append("}").toString();
    }

    private static String json(Object value) {
        if (!(value instanceof String))
            return String.valueOf(value);
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : ((String) value).toCharArray())
            quoted.append(letter < ' ' || letter == '"' || letter == '\\' || letter > '~'
                ? String.format("\\u%04x", (int) letter) : String.valueOf(letter));
        return quoted.append("\"").toString();
    }
}
