import { describe, expect, test } from "vitest";
import { type LogPlace, logStart, PlacedReading, tailPlace } from "./log-stream.ts";

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** What is shown of a text, and the place behind it. */
async function shown(text: string, size: number, place: LogPlace): Promise<{ text: string; place: LogPlace }> {
  const reading = new PlacedReading(place);
  const chunks: Uint8Array[] = [];
  for await (const chunk of inPieces(text, size)) chunks.push(reading.take(chunk));
  reading.end();
  return { text: Buffer.concat(chunks).toString(), place: reading.place() };
}

const sizes = [1, 2, 3, 7, 100];

describe("a place in a log", () => {
  test("wherever a reading ends, also within a character, the next shows the rest", async () => {
    const bytes = Buffer.from("same\nsame\né日本\nno end");
    for (let cut = 0; cut <= bytes.length; cut++) {
      const first = new PlacedReading(logStart);
      expect(Buffer.from(first.take(bytes.subarray(0, cut)))).toEqual(bytes.subarray(0, cut));
      for (const size of sizes) {
        const second = new PlacedReading(first.place());
        const rest: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += size) rest.push(second.take(bytes.subarray(at, at + size)));
        expect(Buffer.concat(rest)).toEqual(bytes.subarray(cut));
      }
    }
  });

  test("a reading that breaks before the place does not lose it", async () => {
    const { place } = await shown("one\ntwo\n", 3, logStart);
    const broken = new PlacedReading(place);
    expect(broken.take(Buffer.from("one\n"))).toHaveLength(0);
    expect((await shown("one\ntwo\nthree\n", 4, broken.place())).text).toBe("three\n");
  });

  test.each(sizes)("another log is refused before anything of it is shown, in pieces of %i", async (size) => {
    const { place } = await shown("one\ntwo\n", 8, logStart);
    for (const text of ["two\nthree\nfour\n", "one\ntwo", ""])
      await expect(shown(text, size, place)).rejects.toMatchObject({ code: "log-changed" });
  });
});

describe("the place of a tail", () => {
  test.each([
    ["a\nb\nc\n", 2, "b\nc\n"],
    ["a\nb\nc\n", 3, "a\nb\nc\n"],
    ["a\nb\nc\n", 9, "a\nb\nc\n"],
    ["a\nb\nc\n", 0, ""],
    ["a\nb\nc", 2, "b\nc"],
    ["a\nb\nc", 0, "c"],
    ["\n\n\n", 1, "\n"],
    ["", 5, ""],
    ["no end", 1, "no end"],
  ])("of %j with %i lines is before %j", async (text, lines, rest) => {
    for (const size of sizes) {
      const place = await tailPlace(inPieces(text, size), lines);
      expect((await shown(text, size, place)).text).toBe(rest);
      expect((await shown(`${text}more\n`, size, place)).text).toBe(`${rest}more\n`);
    }
  });

  test("a log that has lost its beginning since is refused", async () => {
    const place = await tailPlace(inPieces("a\nb\nc\n", 4), 1);
    await expect(shown("b\nc\nd\ne\n", 3, place)).rejects.toMatchObject({ code: "log-changed" });
  });
});
