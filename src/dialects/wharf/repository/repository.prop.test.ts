import { execFileSync } from "node:child_process";
import { chmod, lutimes, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newDirectory, openedRepository, treeOf, writeFiles } from "./testing/projects.ts";

const { signal } = new AbortController();

/** One part of a path: everything that Linux takes, of all lengths up to the longest. */
const part = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 12, unit: "binary" }),
    fc.string({ minLength: 90, maxLength: 120, unit: "grapheme-ascii" }),
  )
  .map((text) => Buffer.from(text.replaceAll(/[/\0]/g, "_")).toString())
  .filter((text) => text !== "." && text !== ".." && Buffer.byteLength(text) <= 255);
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));

interface Thing {
  readonly path: string;
  readonly content: Uint8Array | string;
  readonly mode: number;
  readonly seconds: number;
}
const thing: fc.Arbitrary<Thing> = fc.record({
  path,
  content: fc.oneof(
    fc.uint8Array({ maxLength: 3 }),
    fc.constantFrom(511, 512, 513, 300_000).map((size) => new Uint8Array(size).fill(7)),
    path.map((target) => `-> ${target.slice(0, 500)}`),
  ),
  mode: fc.constantFrom(0o644, 0o755, 0o400, 0o777),
  seconds: fc.integer({ min: 0, max: 2 ** 32 }),
});

/** Without those whose place, or whose directory's place, another one has. */
const compatible = (things: readonly Thing[]): readonly Thing[] =>
  things.filter((one, index) =>
    things
      .slice(0, index)
      .every((other) => !`${one.path}/`.startsWith(`${other.path}/`) && !`${other.path}/`.startsWith(`${one.path}/`)),
  );

test("a copy and an unpacked archive are what the project is, whatever is in it", async () => {
  const property = fc.asyncProperty(fc.array(thing, { maxLength: 12 }), async (things) => {
    const root = await newDirectory();
    try {
      const [project, work, unpacked] = ["project", "work", "unpacked"].map((name) => join(root, name)) as [
        string,
        string,
        string,
      ];
      for (const directory of [project, work, unpacked]) await mkdir(directory);
      for (const { path: name, content, mode, seconds } of compatible(things)) {
        await writeFiles(project, { [name]: content });
        if (typeof content !== "string") await chmod(join(project, name), mode);
        await lutimes(join(project, name), seconds, seconds);
      }
      const { repository } = await openedRepository(project, work, { withIgnored: true });
      const expected = await treeOf(project);
      await repository.copyTo(join(work, "copy"), [], signal);
      expect(await treeOf(join(work, "copy"))).toEqual(expected);
      const archive: Buffer[] = [];
      for await (const chunk of repository.tar([])) archive.push(chunk);
      execFileSync("tar", ["-xpf", "-", "-C", unpacked], { input: Buffer.concat(archive), stdio: "pipe" });
      expect(await treeOf(unpacked)).toEqual(expected);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
  await fc.assert(property, { numRuns: 30 });
});
