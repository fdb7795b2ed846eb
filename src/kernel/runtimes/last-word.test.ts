import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { longestLastWord, maskLastWord, readLastWord, unmaskedWord } from "./last-word.ts";
import { temporaryDirectory } from "./testing/index.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let message: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  message = join(directory.path, "0");
});
afterEach(() => directory.remove());

test("what a task has said is read without the values, and the file with them is gone", async () => {
  await writeFile(unmaskedWord(message), "token=hunter22\nn=1\nhunt");
  expect(await maskLastWord(message, ["hunter22"])).toBeUndefined();
  expect(await readFile(message, "utf8")).toBe("token=***\nn=1\nhunt");
  expect(await readdir(directory.path)).toEqual(["0"]);
});

test.each([
  [
    String.raw`{"a": "x\u002By\/z12\n", "n": 1e400, "b": "\u00e9"}`,
    String.raw`{"a": "***\n", "n": 1e400, "b": "\u00e9"}`,
  ],
  [String.raw`{"x\u002by\/z12": ["\u0078+y/z12 b"]}`, '{"***": ["*** b"]}'],
  [String.raw`{"a": "x\u002By\/z12"`, String.raw`{"a": "x\u002By\/z12"`],
])("a value is found in JSON whatever escapes its writer uses: %s", async (said, shown) => {
  await writeFile(unmaskedWord(message), said);
  await maskLastWord(message, ["x+y/z12"]);
  expect(await readFile(message, "utf8")).toBe(shown);
});

test("it is written through no link that lies in the way", async () => {
  const other = join(directory.path, "other");
  await writeFile(other, "kept");
  await symlink(other, `${message}.partial`);
  await writeFile(unmaskedWord(message), "said");
  expect(await maskLastWord(message, [])).toBeUndefined();
  expect([await readFile(message, "utf8"), await readFile(other, "utf8")]).toEqual(["said", "kept"]);
});

test("once it has been done it is not undone by a second call", async () => {
  await writeFile(unmaskedWord(message), "hunter22");
  await maskLastWord(message, ["hunter22"]);
  await maskLastWord(message, ["hunter22"]);
  expect(await readFile(message, "utf8")).toBe("***");
});

test.each([
  ["just fits", longestLastWord - 1, longestLastWord - 1],
  ["is too long", longestLastWord + 100, longestLastWord],
])("a word that %s is as long as it was said", async (_what, length, expected) => {
  await writeFile(unmaskedWord(message), "x".repeat(length));
  await maskLastWord(message, ["hunter22"]);
  expect(await readFile(message, "utf8")).toBe("x".repeat(expected));
});

test("of a value that the limit cuts nothing is shown, and that it was too long is", async () => {
  const before = "x".repeat(longestLastWord - 4);
  await writeFile(unmaskedWord(message), `${before}hunter22`);
  await maskLastWord(message, ["hunter22"]);
  expect(await readFile(message, "utf8")).toBe(`${before}****`);
});

test.each([
  ["a directory", (path: string) => mkdir(path)],
  ["a link to what only we may read", (path: string) => symlink("/etc/hostname", path)],
])("a task that made its file %s says nothing", async (_what, make) => {
  await make(unmaskedWord(message));
  expect(await maskLastWord(message, ["hunter22"])).toBeUndefined();
  expect(await readLastWord(message, 10)).toBeUndefined();
});

test("what cannot be written is told without a word of it", async () => {
  await writeFile(unmaskedWord(message), "hunter22");
  await mkdir(join(message, "in the way"), { recursive: true });
  expect(await maskLastWord(message, ["hunter22"])).toMatch(/^its last word is left out: E\w+$/);
});
