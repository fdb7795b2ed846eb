import { expect, test } from "vitest";
import { readTar } from "./read-tar.ts";
import { longHeader, makeTar } from "./testing/index.ts";

async function* inPieces(bytes: Buffer, length = 100): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield await Promise.resolve(bytes.subarray(at, at + length));
}

const tar = () =>
  makeTar([
    { name: "a", type: "directory", mode: 0o755 },
    { name: "a/one", type: "file", mode: 0o644, body: Buffer.from("first") },
    { name: "a/two", type: "file", mode: 0o644, body: Buffer.alloc(5_000, "x") },
    { name: "a/link", type: "symlink", linkname: "one" },
    { name: "a/pipe", type: "fifo", mode: 0o644 },
  ]);

test("members come in their order, of whatever kind; bodies that nobody reads are passed over", async () => {
  const found: unknown[] = [];
  for await (const { path, type, target, body } of readTar(inPieces(await tar()))) {
    const chunks: Buffer[] = [];
    if (path === "a/two") for await (const chunk of body) chunks.push(chunk);
    found.push([path, type, target, Buffer.concat(chunks).length]);
  }
  expect(found).toEqual([
    ["a", "directory", "", 0],
    ["a/one", "file", "", 0],
    ["a/two", "file", "", 5_000],
    ["a/link", "symlink", "one", 0],
    ["a/pipe", "other", "", 0],
  ]);
});

test("who leaves early closes the source; what it throws is told", async () => {
  const bytes = await tar();
  let isClosed = false;
  async function* watched() {
    try {
      yield* inPieces(bytes);
    } finally {
      isClosed = true;
    }
  }
  for await (const { type } of readTar(watched())) if (type === "file") break;
  await expect.poll(() => isClosed).toBe(true);
  async function* broken() {
    yield await Promise.resolve(bytes.subarray(0, 700));
    throw new Error("cut off");
  }
  const all = async () => {
    for await (const _member of readTar(broken())) void _member;
  };
  await expect(all()).rejects.toThrow("cut off");
});

test("a header that says it is gigabytes long is not kept in memory", async () => {
  let read = 0;
  async function* counted() {
    for await (const chunk of longHeader(7 * 1024 ** 3)) {
      read += chunk.length;
      yield chunk;
    }
  }
  const all = async () => {
    for await (const _member of readTar(counted())) void _member;
  };
  await expect(all()).rejects.toThrow("Header exceeds max size");
  expect(read).toBeLessThan(2 * 1024 * 1024);
});
