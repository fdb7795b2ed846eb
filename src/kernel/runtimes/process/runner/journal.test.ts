import { appendFile, mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import { JournalFile } from "./journal-file.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "journal");
});
afterEach(() => directory.remove());

const intent = (id: string): JournalEntry => ({ entry: "intent", id, at: 1 });

/** What a runner finds that opens the journal after a crash: nothing is closed before. */
async function reopened(): Promise<readonly string[]> {
  const { journal, last } = await Journal.open(path);
  await journal.close();
  return last.map((entry) => (entry.entry === "removed" ? "removed" : `${entry.entry} ${entry.id}`));
}

test("what was appended is found again, the last word on each task", async () => {
  const { journal, last } = await Journal.open(path);
  expect(last).toEqual([]);
  await journal.append(intent("a"));
  await Promise.all([
    journal.append(intent("b")),
    journal.append({ entry: "started", id: "a", at: 2, process: { pid: 1 } }),
  ]);
  await journal.append({ entry: "removed", ids: ["b"] });
  expect(await reopened()).toEqual(["started a"]);
});

test("an entry that was never completely written is left out, and the next one is not harmed by it", async () => {
  const { journal } = await Journal.open(path);
  await journal.append(intent("a"));
  const text = (await readFile(path, "utf8")).replaceAll("\0", "");
  await truncate(path, Buffer.byteLength(text));
  await appendFile(path, '{"entry":"intent","id":"to');
  const second = await Journal.open(path);
  await second.journal.append(intent("c"));
  expect(await reopened()).toEqual(["intent a", "intent c"]);
});

test("a damaged line in the middle costs that line only", async () => {
  await writeFile(path, `${JSON.stringify(intent("a"))}\n{"entry":\n${JSON.stringify(intent("b"))}\n`);
  expect(await reopened()).toEqual(["intent a", "intent b"]);
});

test("the file grows beyond what was set aside at first, and shrinks when most of it is about tasks that are gone", async () => {
  const { journal } = await Journal.open(path);
  const ids = Array.from({ length: 3_000 }, (_, index) => `${"x".repeat(200)}-${index}`);
  await Promise.all(ids.map((id) => journal.append(intent(id))));
  const full = (await stat(path)).size;
  await journal.append({ entry: "removed", ids: ids.slice(1) });
  await journal.append(intent("last"));
  await Promise.all(Array.from({ length: 5_000 }, () => journal.append({ entry: "removed", ids: [] })));
  await journal.append(intent("kept"));
  await journal.close();
  expect((await stat(path)).size).toBeLessThan(full);
  expect(await reopened()).toEqual([`intent ${ids[0]}`, "intent last", "intent kept"]);
});

test.each(["null", "1", "[]", '"text"', "{}", '{"entry":"intent"}', '{"entry":"removed"}', '{"entry":"x","id":"b"}'])(
  "a line that says %s keeps nobody from starting",
  async (line) => {
    await writeFile(path, `${JSON.stringify(intent("a"))}\n${line}\n${JSON.stringify(intent("c"))}\n`);
    expect(await reopened()).toEqual(["intent a", "intent c"]);
  },
);

test("entries of one turn and of one flush share a flush, in their order", async () => {
  const { journal } = await Journal.open(path);
  const order: string[] = [];
  const ids = Array.from({ length: 50 }, (_, index) => `t${index}`);
  await Promise.all(ids.map((id) => journal.append(intent(id)).then(() => order.push(id))));
  expect(order).toEqual(ids);
  expect(await reopened()).toEqual(ids.map((id) => `intent ${id}`));
});

test("closing waits for what was appended", async () => {
  const { journal } = await Journal.open(path);
  const appended = journal.append(intent("a"));
  await journal.close();
  await appended;
  expect(await reopened()).toEqual(["intent a"]);
});

test("what is opened is written anew, without what is stale", async () => {
  const lines = [intent("a"), intent("b"), { entry: "removed", ids: ["a"] }].map((entry) => JSON.stringify(entry));
  await writeFile(path, `${lines.join("\n")}\n{"torn`);
  const { journal } = await Journal.open(path);
  await journal.close();
  expect((await readFile(path, "utf8")).replaceAll("\0", "")).toBe(`${JSON.stringify(intent("b"))}\n`);
});

test("nobody else may read it", async () => {
  const { journal } = await Journal.open(path);
  await journal.close();
  expect((await stat(path)).mode & 0o077).toBe(0);
});

test("a new file that a crash left half made is not taken for the journal", async () => {
  await writeFile(path, `${JSON.stringify(intent("a"))}\n`);
  await writeFile(`${path}.new`, `${JSON.stringify(intent("b"))}\n`);
  expect(await reopened()).toEqual(["intent a"]);
});

test("a journal that cannot be made anew is left as it was, and nothing stays open or half made", async () => {
  await writeFile(path, `${JSON.stringify(intent("a"))}\n`);
  const text = await readFile(path, "utf8");
  // Nothing can be renamed over a directory that is not empty.
  const taken = join(directory.path, "taken");
  await mkdir(join(taken, "inside"), { recursive: true });
  const open = async () => (await readdir("/proc/self/fd").catch(() => [])).length;
  const before = await open();
  for (let attempt = 0; attempt < 20; attempt++) {
    await expect(JournalFile.replace(taken, text)).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
  }
  expect(await open()).toBeLessThan(before + 10);
  expect((await readdir(directory.path)).sort()).toEqual(["journal", "taken"]);
  expect(await readFile(path, "utf8")).toBe(text);
});
