import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BlobRefusal, BlobStore } from "./blob-store.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "blobs-"));
});
afterEach(() => rm(root, { recursive: true }));

test("an archive whose program is not installed says which one", async () => {
  const store = new BlobStore(root, join(root, "nothing-here"));
  const beginnings = { xz: "fd377a585a00", bzip2: "425a6839", zstd: "28b52ffd" };
  for (const [program, bytes] of Object.entries(beginnings)) {
    await store.write(`${program}/archive`, Readable.from([Buffer.from(bytes, "hex"), Buffer.alloc(100_000)]));
    const refusal = await store.explode(`${program}/archive`).catch((thrown: unknown) => thrown);
    expect(refusal).toBeInstanceOf(BlobRefusal);
    expect(refusal).toMatchObject({ code: 501, message: expect.stringContaining(`takes the program ${program}`) });
    expect(await store.list(program)).toEqual(["archive"]);
  }
});
