import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesIn } from "./search-lines.ts";

async function* cut(text: string, size: number): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function found(text: string, wanted: string, size = 7): Promise<readonly number[]> {
  const numbers: number[] = [];
  for await (const number of matchesIn(cut(text, size), wanted)) numbers.push(number);
  return numbers;
}

test("each line counts once, in any case, and without its colours", async () => {
  expect(await found("One one\ntwo\nthreeOne\n\nONE", "one")).toEqual([0, 2, 4]);
  expect(await found("\u001b[31mre\u001b[0md\nblue\n", "red")).toEqual([0]);
  expect(await found("", "a")).toEqual([]);
});

test("lines are those that a split finds, however the bytes come", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "B", "\n", "ä"), maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.constantFrom("a", "ab", "bä"),
      fc.integer({ min: 1, max: 30 }),
      async (all, wanted, size) => {
        const expected = all
          .split("\n")
          .flatMap((line, number) => (line.toLowerCase().includes(wanted) ? [number] : []));
        expect(await found(all, wanted, size)).toEqual(expected);
      },
    ),
  );
});
