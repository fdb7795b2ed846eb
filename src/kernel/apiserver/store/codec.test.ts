import { describe, expect, test } from "vitest";
import {
  decodeKey,
  decodeRecord,
  decodeValue,
  encodeRecord,
  encodeRevision,
  encodeValue,
  inlinePrevious,
  keyText,
  maxKeyBytes,
  readRevision,
  type RecordFields,
  recordKey,
  recordValue,
} from "./codec.ts";
import { plainText } from "./testing/store-objects.ts";

const space = { take: (length: number): Buffer => Buffer.alloc(length, 0xff) };
const key = { group: "test.slipway.dev", resource: "items", namespace: "ns", name: "a" };
const fields = (json: string): RecordFields => ({
  type: "modify",
  prevRevision: 41,
  key: keyText(key),
  createRevision: 7,
  revision: 2 ** 40 + 3,
  text: plainText(json),
});

describe("revisions", () => {
  test("survive up to the largest exact number", () => {
    for (const revision of [0, 1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      expect(readRevision(encodeRevision(revision), 0)).toBe(revision);
    }
  });

  test("sort as bytes the way they sort as numbers", () => {
    const sorted = [1, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 40].map((revision) => encodeRevision(revision));
    expect([...sorted].reverse().sort((a, b) => Buffer.compare(a, b))).toEqual(sorted);
  });
});

describe("keys", () => {
  test("are their parts between zeros, empty ones included", () => {
    expect(keyText({ group: "", resource: "nodes", namespace: "", name: "n" })).toBe("\0nodes\0\0n");
    expect(decodeKey(Buffer.from(keyText(key)))).toEqual(key);
  });

  test.each(["", "a", "a\0b\0c", "a\0b\0c\0d\0e", "g\0\0ns\0n", "g\0r\0ns\0"])("%j is not one", (text) => {
    expect(() => decodeKey(Buffer.from(text))).toThrow("contradicts itself");
  });

  test("that LMDB cannot hold are refused", () => {
    const name = "n".repeat(maxKeyBytes);
    expect(() => encodeRecord({ ...fields("{}"), key: name }, space)).not.toThrow();
    expect(() => encodeRecord({ ...fields("{}"), key: `${name}n` }, space)).toThrow("exceeds");
  });
});

describe("records", () => {
  test.each(['{"a":1}', '{"a":"größer ☃ 😀"}'])("carry key and value of %s as one piece", (json) => {
    const record = encodeRecord(fields(json), space);
    expect(decodeKey(recordKey(record))).toEqual(key);
    const value = decodeValue(recordValue(record));
    expect([value.createRevision, value.revision, value.json.toString()]).toEqual([7, 2 ** 40 + 3, json]);
    expect(decodeRecord(record.bytes)).toEqual({
      type: "modify",
      prevRevision: 41,
      key: recordKey(record),
      value,
      inlined: undefined,
    });
  });

  test("may carry the value of the revision before", () => {
    const record = encodeRecord(fields('{"a":2}'), space);
    const decoded = decodeRecord(inlinePrevious(record, encodeValue(7, 41, Buffer.from('{"a":1}'))));
    expect(decoded.value.json.toString()).toBe('{"a":2}');
    expect(decoded.inlined).toMatchObject({ createRevision: 7, revision: 41 });
    expect(decoded.inlined?.json.toString()).toBe('{"a":1}');
  });

  test("cut short or with an unknown type are corrupt, not misread", () => {
    const { bytes } = encodeRecord(fields('{"a":1}'), space);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeRecord(bytes.subarray(0, length))).toThrow("contradicts itself");
    }
    const unknown = Buffer.from(bytes);
    unknown[0] = 4;
    expect(() => decodeRecord(unknown)).toThrow("unknown type");
    expect(() => decodeRecord(Buffer.concat([bytes, Buffer.from("x")]))).toThrow("contradicts itself");
  });
});
