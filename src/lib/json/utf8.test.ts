import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8 } from "./parse.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const a = 0x61;

test.each<readonly [string, Uint8Array, number]>([
  ["a lone continuation byte", bytes(a, 0x80, a), 1],
  ["an overlong form of a slash", bytes(a, a, 0xc0, 0xaf), 2],
  ["a surrogate", bytes(0xed, 0xa0, 0x80), 1],
  ["a code point beyond the last", bytes(a, 0xf4, 0x90, 0x80, 0x80), 2],
  ["a byte that never occurs", bytes(a, 0xff), 1],
  ["a sequence that is broken off", bytes(a, 0xe2, 0x82, a), 3],
  ["the second of two errors", bytes(0xc3, 0xa4, 0x80, 0x80), 2],
])("%s is refused at the first byte that cannot stand there", (_, input, offset) => {
  expect(decodeUtf8(input)).toMatchObject({
    ok: false,
    error: { code: "encoding", offset, message: `invalid UTF-8 at byte ${offset}` },
  });
});

test("a sequence that the end cuts off is refused, at its first byte or at the end", () => {
  const refused = decodeUtf8(bytes(a, 0xe2, 0x82));
  expect(refused.ok ? undefined : refused.error.code).toBe("encoding");
});

test("the place of wrong bytes counts characters, the offset bytes", () => {
  const input = new Uint8Array([...new TextEncoder().encode("ä\n😀x"), 0xff]);
  expect(decodeUtf8(input)).toMatchObject({ ok: false, error: { offset: 8, line: 2, column: 4 } });
});

test("a byte order mark is kept, for the reader to refuse", () => {
  expect(decodeUtf8(bytes(0xef, 0xbb, 0xbf, a))).toEqual({ ok: true, value: "\ufeffa" });
});

test("every text survives, and everything else is refused where it begins to be wrong", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string(), (before, after) => {
      const encoder = new TextEncoder();
      expect(decodeUtf8(encoder.encode(before))).toEqual({ ok: true, value: before });
      const broken = new Uint8Array([...encoder.encode(before), 0xff, ...encoder.encode(after)]);
      const refused = decodeUtf8(broken);
      expect(refused.ok ? undefined : refused.error.offset).toBe(encoder.encode(before).length);
    }),
  );
});
