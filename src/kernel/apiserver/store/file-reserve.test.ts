import { mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FileReserve } from "./file-reserve.ts";

const mebibyte = 2 ** 20;

describe("the reserve of a database file", () => {
  let directory: string;
  let path: string;
  let reserve: FileReserve;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "slipway-reserve-"));
    path = join(directory, "file");
    await writeFile(path, Buffer.alloc(8192, "x"));
    reserve = await FileReserve.open(path);
  });
  afterEach(async () => {
    await reserve.close();
    await rm(directory, { recursive: true });
  });

  const never = (): number => {
    throw new Error("asked for the pages in use without need");
  };

  test("has nothing to give before it was extended, even where the file has room", () => {
    expect(reserve.take(1, () => 8192)).toBe(false);
  });

  test("gives what it was extended by, and a step more, without asking what is in use", async () => {
    await reserve.extend(10_000, 8192);
    expect((await stat(path)).size).toBe(8192 + 10_000 + mebibyte);
    expect(reserve.take(mebibyte, never)).toBe(true);
  });

  test("looks at what is really in use before it says that there is too little", async () => {
    await reserve.extend(10_000, 8192);
    expect(reserve.take(mebibyte + 10_000, () => 8192)).toBe(true);
    expect(reserve.take(1, () => 8192 + 10_000 + mebibyte)).toBe(false);
  });

  test("adds blocks that are the file's own, and leaves alone what the file holds", async () => {
    await reserve.extend(3 * mebibyte, 8192);
    const { size, blocks } = await stat(path);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    const bytes = await readFile(path);
    expect(bytes.subarray(0, 8192).equals(Buffer.alloc(8192, "x"))).toBe(true);
    expect(bytes.subarray(8192).every((byte) => byte === 0)).toBe(true);
  });

  test("does not write over pages of a transaction that took more than it had asked for", async () => {
    await reserve.extend(1, 8192);
    const pages = Buffer.alloc(2 * mebibyte, "y");
    await writeFile(path, pages);
    await reserve.extend(mebibyte, 8192);
    expect((await readFile(path)).subarray(0, pages.length).equals(pages)).toBe(true);
  });

  test("gives nothing, however little, until there is room for what was refused", async () => {
    let room = 2 * mebibyte;
    const file = await open(path, "r+");
    const limited = new FileReserve({
      stat: () => file.stat(),
      close: () => file.close(),
      write: (bytes, offset, length, position) =>
        position + length > room
          ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }))
          : file.write(bytes, offset, length, position),
    });
    await limited.extend(1, 8192);
    await expect(limited.extend(5 * mebibyte, 8192)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(limited.take(1, () => 8192)).toBe(false);
    await expect(limited.extend(1, 8192)).rejects.toMatchObject({ code: "ENOSPC" });
    room = 20 * mebibyte;
    await limited.extend(1, 8192);
    expect(limited.take(1, () => 8192)).toBe(true);
    await limited.close();
  });
});
