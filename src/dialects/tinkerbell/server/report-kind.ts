// Two protocols send different messages to one path. Both are sequences of numbered fields; where a number is a text in the one and a count in the
// other, the wire type tells them apart, without a guess at what the bytes mean.

/** Wire types of the encoding. */
const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

/** Whose report these bytes are; undefined when they do not say. */
export function reportKind(bytes: Uint8Array): "poll" | "worker" | undefined {
  for (const [field, type] of fieldsIn(bytes)) {
    // 4 is a state to workers and an id to agents, 5 are seconds or a name, 6 is a text or a state.
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

/** Numbers and wire types of the fields of a message, up to where it stops making sense. */
function* fieldsIn(bytes: Uint8Array): Generator<readonly [number, number]> {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    // Ten bytes at most; what goes beyond 2^53 is no length and no field.
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++] ?? Number.NaN;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128 || Number.isNaN(byte)) return Number.isNaN(byte) ? Number.NaN : value;
    }
    return Number.NaN;
  };
  const skip = (type: number): number => {
    // Reading it is passing it; one that does not end is no field.
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
    // NaN is greater than nothing.
    if (!(at <= bytes.length)) return;
    yield [Math.floor(tag / 8), type];
  }
}
