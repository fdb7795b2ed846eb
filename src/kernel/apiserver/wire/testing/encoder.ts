// The opposite of the decoder, as simple as can be: tests put messages together from fields.

const join = (parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(parts));

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Uint8Array.from([...bytes, Number(rest)]);
}

const tag = (field: number, type: number): Uint8Array => varint((BigInt(field) << 3n) | BigInt(type));

/** An integer or a boolean; negative numbers as 64-bit two's complement. */
export const varintField = (field: number, value: number | bigint): Uint8Array =>
  join([tag(field, 0), varint(BigInt(value))]);

export function doubleField(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return join([tag(field, 1), bytes]);
}

export const bytesField = (field: number, bytes: Uint8Array): Uint8Array =>
  join([tag(field, 2), varint(BigInt(bytes.length)), bytes]);

export const textField = (field: number, text: string): Uint8Array => bytesField(field, Buffer.from(text));

export const messageField = (field: number, ...fields: readonly Uint8Array[]): Uint8Array =>
  bytesField(field, join(fields));

/** A body as clients send it. `contentType` is what the object inside is said to be encoded as. */
export function envelope(apiVersion: string, kind: string, ...rest: readonly (Uint8Array | string)[]): Uint8Array {
  const fields = rest.filter((part) => typeof part !== "string");
  const contentType = rest.find((part) => typeof part === "string") ?? "";
  return join([
    Uint8Array.of(0x6b, 0x38, 0x73, 0),
    messageField(1, textField(1, apiVersion), textField(2, kind)),
    messageField(2, ...fields),
    textField(3, ""),
    textField(4, contentType),
  ]);
}
