import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { RepositoryEntry } from "../../repository/entry.ts";
import { fetchDirectory } from "./docker-backend.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-fetch-"));
});
afterEach(() => rm(root, { recursive: true }));

type Entry = Partial<RepositoryEntry> & Pick<RepositoryEntry, "path" | "kind">;
async function* archiveOf(entries: readonly Entry[], text = "bytes", isWhole = true) {
  for (const entry of entries) {
    const bytes = Buffer.from(entry.kind === "file" ? text : "");
    yield headerOf({ mode: 0o777, modified: 0, size: bytes.length, ...entry });
    yield await Promise.resolve(Buffer.concat([bytes, paddingOf(bytes.length)]));
  }
  if (isWhole) yield endOfArchive;
  else throw new Error("cut off");
}

test("regular files inside are taken, closed to others; what leads out, links and what is left are not", async () => {
  const entries: readonly Entry[] = [
    { path: "results", kind: "directory" },
    { path: "results/steps/1/output.log", kind: "file" },
    { path: "results/work/huge", kind: "file" },
    { path: "results/../../escaped", kind: "file" },
    { path: "results/link", kind: "link", target: "/etc/passwd" },
    { path: "results/link/inside", kind: "file" },
  ];
  const path = join(root, "w", "results");
  await fetchDirectory(archiveOf(entries), path, (name) => name.startsWith("work"));
  expect((await readdir(root, { recursive: true })).toSorted()).toEqual([
    "w",
    "w/results",
    "w/results/link",
    "w/results/link/inside",
    "w/results/steps",
    "w/results/steps/1",
    "w/results/steps/1/output.log",
  ]);
  expect(await readFile(join(path, "steps/1/output.log"), "utf8")).toBe("bytes");
  expect((await stat(join(path, "steps/1/output.log"))).mode & 0o777).toBe(0o600);
});

test("an archive that breaks off leaves nothing", async () => {
  const path = join(root, "results");
  const cut = archiveOf([{ path: "results/a", kind: "file" }], "bytes", false);
  await expect(fetchDirectory(cut, path, () => false)).rejects.toThrow("cut off");
  expect(await readdir(root)).toEqual([]);
});
