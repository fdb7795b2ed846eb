import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

// What is done with a store that no server has open. Each test goes on with what the ones before have left.

let cli: CommandLine;
beforeAll(async () => {
  cli = await commandLine();
});
afterAll(() => cli.close());

const store = (...words: readonly string[]) => cli.run("store", ...words, "--data-dir", "state");

test.each<[readonly string[], string]>([
  [["chek"], 'expected one of backup, check, export, restore, found "chek"'],
  [["backup"], "backup requires a backup file: slipway store backup FILE"],
  [["restore"], "restore requires a backup file"],
  [["check", "x"], 'check takes no file, found "x"'],
  [["check", "-o", "yaml"], "check prints text or json"],
  [["backup", "state/store/copy"], "the backup must be outside the store's directory"],
])("%j is refused as usage", async (words, message) => {
  expect(await store(...words)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
});

test("a directory without a store is no empty store", async () => {
  for (const words of [["check"], ["export"], ["backup", "b.mdb"]])
    expect(await store(...words)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^slipway: there is no store in .*state\nname the directory .*--data-dir\n$/),
    });
  expect(await store("restore", "b.mdb")).toMatchObject({ code: 1, err: expect.stringContaining("there is no file") });
});

test("what was stored is backed up, checked, exported and restored", async () => {
  const { fillStore } = await import("#app/server/testing/index.ts");
  await fillStore(join(cli.directory, "state"));
  expect((await store("backup", "b.mdb")).out).toMatch(/b\.mdb: \d+ bytes\n$/);
  expect(await store("backup", "b.mdb")).toMatchObject({
    code: 2,
    err: expect.stringContaining("--force replaces it"),
  });
  expect(JSON.parse((await store("backup", "b.mdb", "--force", "-o", "json")).out)).toMatchObject({
    bytes: expect.any(Number),
  });
  expect(await store("check")).toMatchObject({ code: 0, out: "", err: expect.stringMatching(/: sound: 3 objects, /) });
  expect(JSON.parse((await store("check", "-o", "json")).out)).toMatchObject({ findings: [], objects: 3 });
  const documents = (await store("export")).out.split("---\n");
  expect(documents.map((text) => /^ {2}name: (.*)$/m.exec(text)?.[1])).toEqual(["demo", "b", "a"]);
  expect(JSON.parse((await store("export", "-o", "json")).out)).toMatchObject({ kind: "List", items: [{}, {}, {}] });
  expect((await store("restore", "b.mdb")).out).toMatch(
    /state holds the objects of .*b\.mdb; the previous store is now .*\n$/,
  );
});

test("what contradicts itself ends with 4, and the way out is told", async () => {
  await writeFile(join(cli.directory, "state/store/store.mdb"), Buffer.alloc(65_536, 7));
  const { code, err } = await store("check");
  expect(code).toBe(4);
  expect(err).toContain("slipway store restore FILE");
  await store("restore", "b.mdb");
  expect((await store("check")).code).toBe(0);
  expect((await readFile(join(cli.directory, "b.mdb"))).length).toBeGreaterThan(0);
});
