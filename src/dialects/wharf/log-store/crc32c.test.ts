import { expect, test } from "vitest";
import { crc32c } from "./crc32c.ts";

// RFC 3720 B.4, and the usual check value.
test.each([
  ["123456789", Buffer.from("123456789"), 0xe3069283],
  ["32 bytes of 0", Buffer.alloc(32), 0x8a9136aa],
  ["32 bytes of 0xff", Buffer.alloc(32, 0xff), 0x62a8ab43],
  ["0 to 31", Buffer.from(Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e],
  ["31 to 0", Buffer.from(Array.from({ length: 32 }, (_, at) => 31 - at)), 0x113fdb5c],
  ["nothing", Buffer.alloc(0), 0],
])("%s", (_name, bytes, expected) => {
  expect(crc32c(bytes)).toBe(expected);
});

test("a part of a buffer counts as if it stood alone", () => {
  const bytes = Buffer.from("..123456789..");
  expect(crc32c(bytes, 2, 11)).toBe(0xe3069283);
});
