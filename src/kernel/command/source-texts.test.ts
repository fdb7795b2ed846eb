import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { decodeText, maxFileBytes, readSources } from "./source-texts.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-sources-"));
  await mkdir(join(directory, "many/inside"), { recursive: true });
  await mkdir(join(directory, "none"));
  await Promise.all([
    writeFile(join(directory, "a.yaml"), "a: 1\n"),
    writeFile(join(directory, "many/2.json"), "{}"),
    writeFile(join(directory, "many/1.yml"), "b: 1"),
    writeFile(join(directory, "many/notes.md"), "# no"),
    writeFile(join(directory, "many/inside/3.yaml"), "c: 1"),
    writeFile(join(directory, "none/notes.md"), "# no"),
    writeFile(join(directory, "mark.yaml"), Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0x3a, 0x20, 0x31])),
    writeFile(join(directory, "utf16.yaml"), Buffer.from("\ufeffa: 1\n", "utf16le")),
    writeFile(join(directory, "zero.yaml"), "a: \0"),
    writeFile(join(directory, "latin.yaml"), Buffer.from([0x61, 0x3a, 0x20, 0xe9])),
    writeFile(join(directory, "full.yaml"), Buffer.alloc(maxFileBytes, "#")),
    writeFile(join(directory, "over.yaml"), Buffer.alloc(maxFileBytes + 1, "#")),
  ]);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function* chunks(...texts: readonly string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** What is read, as `file: text` or as the problem. */
async function read(paths: readonly string[], stdin?: () => AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const sources = await readSources(paths, { directory, ...(stdin === undefined ? {} : { stdin }) });
  return sources.map((source) =>
    "problem" in source ? formatProblem(source.problem) : `${source.file}: ${source.text.slice(0, 20)}`,
  );
}

test("files are read in the order of the command line, by relative and by absolute paths", async () => {
  const absolute = join(directory, "a.yaml");
  expect(await read([absolute, "many/1.yml", "a.yaml"])).toEqual([
    `${absolute}: a: 1\n`,
    "many/1.yml: b: 1",
    "a.yaml: a: 1\n",
  ]);
});

test.each(["many", "many/"])("the folder %s is its documents by name, without what lies deeper", async (path) => {
  expect(await read([path])).toEqual(["many/1.yml: b: 1", "many/2.json: {}"]);
});

test("a folder without documents is a slip of the command line", async () => {
  await expect(read(["none"])).rejects.toThrow("none contains no .yaml, .yml or .json file");
});

test("standard input comes in pieces, and once only", async () => {
  expect(await read(["-"], () => chunks("a: ", "1"))).toEqual(["-: a: 1"]);
  // A character may be cut in two by a pipe.
  const bytes = Buffer.from("é");
  async function* cut() {
    yield bytes.subarray(0, 1);
    yield bytes.subarray(1);
  }
  expect(await read(["-"], cut)).toEqual(["-: é"]);
  await expect(read(["-", "a.yaml", "-"], () => chunks("a"))).rejects.toThrow("can be read only once");
});

test("a byte order mark is no part of the text", async () => {
  expect(await read(["mark.yaml"])).toEqual(["mark.yaml: a: 1"]);
});

test.each(["zero.yaml", "latin.yaml", "utf16.yaml"])(
  "%s is no text, which takes one short line to say",
  async (file) => {
    expect(await read([file])).toEqual([`${file}:1:1: error: not text: expected YAML or JSON in UTF-8`]);
  },
);

test("a file may be as large as the API server takes, and not a byte larger", async () => {
  const tooLarge = "error: expected at most 3145728 bytes (3 MiB); split it into several files";
  expect(await read(["full.yaml"])).toEqual([`full.yaml: ${"#".repeat(20)}`]);
  expect(await read(["over.yaml"])).toEqual([`over.yaml:1:1: ${tooLarge}`]);
  expect(await read(["-"], () => chunks("x".repeat(maxFileBytes), "x"))).toEqual([`-:1:1: ${tooLarge}`]);
});

test("what never ends is read to the limit", async () => {
  expect(await read(["/dev/zero"])).toEqual([expect.stringContaining("expected at most 3145728 bytes")]);
  let taken = 0;
  async function* endless() {
    for (;;) {
      taken += 1;
      yield Buffer.alloc(64 * 1024, "#");
    }
  }
  await read(["-"], endless);
  expect(taken).toBe(maxFileBytes / 65_536 + 1);
});

test("a named pipe is read to its end", async () => {
  await promisify(execFile)("mkfifo", [join(directory, "pipe")]);
  const [found] = await Promise.all([read(["pipe"]), writeFile(join(directory, "pipe"), "p: 1")]);
  expect(found).toEqual(["pipe: p: 1"]);
});

test("a file that cannot be read hides none of the others", async () => {
  const failing = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.from("a");
    throw new Error("the line was cut");
  };
  expect(await read(["nowhere.yaml", "a.yaml", "a.yaml/x", "-"], failing)).toEqual([
    "nowhere.yaml:1:1: error: cannot read nowhere.yaml: no such file or directory",
    "a.yaml: a: 1\n",
    "a.yaml/x:1:1: error: cannot read a.yaml/x: not a directory",
    "-:1:1: error: cannot read standard input: the line was cut",
  ]);
});

test("every text without a zero is read back from its bytes, and no other bytes are a text", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }).filter((text) => !text.startsWith("\ufeff")),
      (text) => {
        expect(decodeText(Buffer.from(text))).toBe(text.includes("\0") ? undefined : text);
      },
    ),
    { numRuns: runs(200) },
  );
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = decodeText(bytes);
      if (text === undefined) return;
      const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
      expect(Buffer.from(text).equals(bytes.subarray(mark))).toBe(true);
    }),
    { numRuns: runs(200) },
  );
});
