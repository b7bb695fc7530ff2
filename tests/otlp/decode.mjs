// decode.mjs FOLDER: decodes bodies of OTLP/HTTP with JSON by OpenTelemetry's own definitions (FOLDER/node_modules). It
// reads one a line on stdin, and answers each on stdout with "ok" or with its fault.
//
// A body is turned into its protobuf message, encoded, decoded, and turned into JSON again. A part that differs then
// was not understood. Examples are an unknown name, a number that should be text, a word for an enum, an identity that
// is not hexadecimal.
import assert from 'node:assert';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const require = createRequire(path.resolve(process.argv[2], 'node_modules') + '/');
const definitions = require(path.resolve(process.argv[2], 'node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js'));
const Request = definitions.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const IDS = { traceId: 16, spanId: 8, parentSpanId: 8 };

// The one place where OTLP leaves protobuf's JSON mapping: identities are hexadecimal.
function withIds(value, change) {
  if (Array.isArray(value)) return value.map(item => withIds(item, change));
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) =>
    [name, name in IDS ? change(inner, IDS[name]) : withIds(inner, change)]));
}

function bytesOf(text, size) {
  const bytes = Buffer.from(String(text), 'hex');
  assert.strictEqual(bytes.length, size, `an identity of ${bytes.length} bytes: ${text}`);
  return bytes;
}

function wrong(line) {
  try {
    const body = JSON.parse(line);
    const message = Request.decode(Request.encode(Request.fromObject(withIds(body, bytesOf))).finish());
    const again = withIds(Request.toObject(message, { longs: String }), bytes => Buffer.from(bytes).toString('hex'));
    assert.deepStrictEqual(again, body);
    return 'ok';
  } catch (error) {
    return String(error.message).replace(/\s+/g, ' ').slice(0, 500);
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) process.stdout.write(wrong(line) + '\n');
