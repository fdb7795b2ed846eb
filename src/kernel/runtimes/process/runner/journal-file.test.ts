import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { JournalFile } from "./journal-file.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "journal");
});
afterEach(() => directory.remove());

test("a file that does not exist has no text", () => {
  expect(JournalFile.read(path)).toBe("");
});

test("what stands in the way is a failure, not an empty journal", () => {
  expect(() => JournalFile.read(directory.path)).toThrow("EISDIR");
});

test.each([
  ["", ""],
  ["a\n", "a\n"],
  ["a\n\0\0\0", "a\n"],
  ["a\n\0b\n", "a\n"],
  ["\0a\n", ""],
])("of the bytes %j the text is %j", async (bytes, text) => {
  await writeFile(path, bytes);
  expect(JournalFile.read(path)).toBe(text);
});

test("a text that is longer than a block is read whole, characters at its borders, too", async () => {
  const text = "é".repeat(400_000);
  await writeFile(path, text);
  expect(JournalFile.read(path)).toBe(text);
});

test("text appended within and beyond the room set aside is read back", async () => {
  const file = await JournalFile.replace(path, "first\n");
  const room = (await stat(path)).size;
  file.append("small\n");
  expect((await stat(path)).size).toBe(room);
  const long = `${"x".repeat(room)}\n`;
  file.append(long);
  expect((await stat(path)).size).toBeGreaterThan(room);
  file.append("last\n");
  await file.flush();
  file.close();
  expect(JournalFile.read(path)).toBe(`first\nsmall\n${long}last\n`);
});

test("what was taken back is not read, however much shorter the next text is", async () => {
  const file = await JournalFile.replace(path, "kept\n");
  const { end } = file;
  file.append("refused one\nrefused two\nrefused three\n");
  file.rewind(end);
  file.append("x\n");
  expect(JournalFile.read(path)).toBe("kept\nx\n");
  file.append("longer than what was left of the refused ones, all three of them together\n");
  expect(JournalFile.read(path)).toMatch(/^kept\nx\nlonger .* together\n$/);
  file.close();
});

test("replacing is all or nothing for who reads at the same time", async () => {
  const one = await JournalFile.replace(path, "1\n".repeat(50_000));
  const texts = new Set<string>();
  const reading = (async () => {
    for (let turn = 0; turn < 30; turn++) {
      texts.add(JournalFile.read(path));
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const two = await JournalFile.replace(path, "2\n".repeat(50_000));
  await reading;
  texts.add(JournalFile.read(path));
  expect([...texts].every((text) => text === "1\n".repeat(50_000) || text === "2\n".repeat(50_000))).toBe(true);
  expect(texts.has("2\n".repeat(50_000))).toBe(true);
  one.close();
  two.close();
});
