import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SlipwayError } from "#lib/base/index.ts";
import { linesOf, readWatchLine } from "./watch-lines.ts";

const fail = (what: string): SlipwayError => new SlipwayError("malformed-answer", what);
async function* from(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks;
}
async function lines(...chunks: readonly (string | Buffer)[]): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const line of linesOf(from(chunks.map((chunk) => Buffer.from(chunk))), fail)) found.push(line.toString());
  return found;
}

describe("lines", () => {
  test.each<[readonly string[], readonly string[]]>([
    [[], []],
    [["a\n"], ["a"]],
    [["a\nb\n"], ["a", "b"]],
    [
      ["a", "b\n", "c\n"],
      ["ab", "c"],
    ],
    [
      ["a\n", "", "\n"],
      ["a", ""],
    ],
    [["\r\n"], ["\r"]],
  ])("%j are %j", async (chunks, found) => {
    expect(await lines(...chunks)).toEqual(found);
  });

  test("are the same however the bytes are cut, in the middle of characters too", async () => {
    const texts = fc.array(
      fc.string({ unit: "grapheme", maxLength: 12 }).filter((text) => !text.includes("\n")),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat(60), { maxLength: 10 }), async (given, cuts) => {
        const bytes = Buffer.from(given.map((text) => `${text}\n`).join(""));
        const places = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].sort((a, b) => a - b);
        const chunks = [0, ...places].map((place, at) => bytes.subarray(place, [...places, bytes.length][at]));
        expect(await lines(...chunks)).toEqual(given);
      }),
    );
  });

  test("that end in the middle are an error, after those that were whole", async () => {
    const found: string[] = [];
    const reading = (async () => {
      for await (const line of linesOf(from([Buffer.from("a\nhal")]), fail)) found.push(line.toString());
    })();
    await expect(reading).rejects.toThrow("a stream that was cut off in the middle of an event");
    expect(found).toEqual(["a"]);
  });

  test("without an end are not kept for ever", async () => {
    const endless = (function* () {
      for (;;) yield Buffer.alloc(8 * 2 ** 20, "x");
    })();
    const reading = (async () => {
      for await (const _line of linesOf(from(endless), fail));
    })();
    await expect(reading).rejects.toThrow("a line of more than 33554432 bytes");
  });
});

describe("one line", () => {
  const read = (line: string) => readWatchLine(Buffer.from(line), fail);
  const object = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };

  test.each(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])("%s is an event", (type) => {
    expect(read(JSON.stringify({ type, object }))).toEqual({ type, object });
  });

  test.each([
    ["{", "an event that is no JSON (expected "],
    ["[]", "an event that is no object"],
    ["null", "an event that is no object"],
    ['{"type":"ADDED"}', "an event without a Kubernetes object"],
    ['{"type":"ADDED","object":{"kind":"Pod"}}', "an event without a Kubernetes object"],
    [JSON.stringify({ type: "LATER", object }), 'an event of the unknown type "LATER"'],
    [JSON.stringify({ object }), "an event of the unknown type undefined"],
    ['{"type":"ERROR","object":{}}', "an ERROR event without a Status"],
    ['{"type":"ERROR"}', "an ERROR event without a Status"],
  ])("%s is refused: %s", (line, message) => {
    expect(() => read(line)).toThrow(message.slice(0, -1));
  });

  test("ERROR is the refusal it carries", () => {
    const status = { kind: "Status", apiVersion: "v1", code: 410, reason: "Expired", message: "too old" };
    expect(() => read(JSON.stringify({ type: "ERROR", object: status }))).toThrow(
      expect.objectContaining({ reason: "Expired", code: 410, message: "too old" }),
    );
  });
});
