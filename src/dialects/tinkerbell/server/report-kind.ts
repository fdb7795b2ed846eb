// Two protocols send different messages to one path. A field number's wire type tells them apart.

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

/** The protocol of a report; undefined if it cannot be told. */
export function reportKind(bytes: Uint8Array): "poll" | "worker" | undefined {
  for (const [field, type] of fieldsIn(bytes)) {
    // 4 is a state for workers and an id for agents, 5 seconds or a name, 6 a text or a state.
    if (
      (field === 4 && type === varint) ||
      (field === 5 && type === varint) ||
      (field === 6 && type === lengthDelimited)
    )
      return "worker";
    if ((field === 4 && type === lengthDelimited) || (field === 6 && type === varint)) return "poll";
  }
  return undefined;
}

/** Numbers and wire types of the fields, up to the first invalid one. */
function* fieldsIn(bytes: Uint8Array): Generator<readonly [number, number]> {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    // At most ten bytes; beyond 2^53 it is neither a length nor a field.
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++] ?? Number.NaN;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128 || Number.isNaN(byte)) return Number.isNaN(byte) ? Number.NaN : value;
    }
    return Number.NaN;
  };
  const skip = (type: number): number => {
    // Skips it; an unterminated one is no field.
    if (type === varint) return Number.isNaN(readVarint()) ? Number.NaN : 0;
    if (type === fixed64) return 8;
    if (type === fixed32) return 4;
    return type === lengthDelimited ? readVarint() : Number.NaN;
  };
  while (at < bytes.length) {
    const tag = readVarint();
    const type = tag % 8;
    const length = skip(type);
    at += length;
    // Also ends at NaN.
    if (!(at <= bytes.length)) return;
    yield [Math.floor(tag / 8), type];
  }
}
