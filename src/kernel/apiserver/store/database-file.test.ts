import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { prepareDatabaseFile } from "./database-file.ts";
import { openStore } from "./open.ts";
import { putItem, withDirectory } from "./testing/store-objects.ts";

describe("a database file", () => {
  test("that is empty or all zeros is made anew", () =>
    withDirectory(async (directory) => {
      for (const size of [0, 4_096, 8_192]) {
        await writeFile(join(directory, "store.mdb"), Buffer.alloc(size));
        const store = await openStore(directory);
        expect((await putItem(store, "a")).revision).toBe(1);
        await store.close();
        await truncate(join(directory, "store.mdb"), 0);
      }
    }));

  test.each([
    ["a text", Buffer.from("hello")],
    ["much text", Buffer.alloc(100_000, "hello")],
    ["many zeros", Buffer.alloc(100_000)],
    ["a header without the rest", Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8])],
  ])("that is %s is refused", (_, content) =>
    withDirectory(async (directory) => {
      await writeFile(join(directory, "store.mdb"), content);
      await expect(openStore(directory)).rejects.toMatchObject({ code: "store-corrupt" });
    }),
  );

  test("that was cut short is an error and not the end of the process", () =>
    withDirectory(async (directory) => {
      const path = join(directory, "store.mdb");
      const store = await openStore(directory);
      await Promise.all(Array.from({ length: 200 }, (_, index) => putItem(store, `i${index}`, "x".repeat(500))));
      await store.close();
      // Behind its pages the file has room that nothing is kept in.
      const size = (await readFile(path)).findLastIndex((byte) => byte !== 0) + 1;
      for (const share of [0.99, 0.9, 0.5, 0.2, 0.1]) {
        await truncate(path, Math.floor((size * share) / 4_096) * 4_096);
        await expect(openStore(directory)).rejects.toMatchObject({ code: "store-corrupt" });
      }
    }));

  test("that does not exist is absent", () =>
    withDirectory(async (directory) => {
      expect(await prepareDatabaseFile(join(directory, "none"))).toBe("absent");
    }));
});
