import { createHash } from "node:crypto";
import { appendFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deferred, systemClock } from "#lib/base/index.ts";
import { inDirectory } from "../log-store/testing/log-lines.ts";
import { openArtifactStore } from "./artifact-store.ts";

const bytesOf = async function* (...texts: readonly string[]): AsyncGenerator<Buffer, void> {
  for (const text of texts) yield Buffer.from(text);
};
const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");
const openIn = (directory: string, maxBytes?: number) =>
  openArtifactStore({ directory, clock: systemClock, ...(maxBytes === undefined ? {} : { maxBytes }) });
const contents = async (directory: string): Promise<readonly string[]> =>
  (await readdir(join(directory, "content"))).filter((name) => name !== ".parts");
const parts = (directory: string): Promise<readonly string[]> => readdir(join(directory, "content", ".parts"));

test("bytes are stored once, and go with the last build that has them", () =>
  inDirectory(async (directory) => {
    const store = await openIn(directory);
    const first = await store.add(1, { name: "bin/app" }, bytesOf("sa", "me"));
    expect(first).toMatchObject({
      artifactId: 1,
      stepId: 0,
      name: "bin/app",
      fileName: "app",
      size: 4,
      sha256: sha256Of("same"),
    });
    await store.add(1, { name: "other" }, bytesOf("same"));
    await store.add(2, { name: "app" }, bytesOf("same"));
    expect(await contents(directory)).toEqual([sha256Of("same")]);
    await store.remove(1);
    expect(store.list(1)).toEqual([]);
    const [kept] = store.list(2);
    expect(kept && (await readFile(store.pathOf(kept), "utf8"))).toBe("same");
    await store.remove(2);
    await store.remove(2);
    expect(await contents(directory)).toEqual([]);
    expect([...store.builds()]).toEqual([]);
  }));

test("an artifact that a worker has numbered is there once; other bytes of its number are refused", () =>
  inDirectory(async (directory) => {
    const store = await openIn(directory);
    const sent = { name: "a", stepId: 2, workerArtifactId: 5, sha256: sha256Of("x") };
    const both = await Promise.all([store.add(1, sent, bytesOf("x")), store.add(1, sent, bytesOf("x"))]);
    expect(both[0]).toEqual(both[1]);
    expect(store.list(1)).toHaveLength(1);
    expect(store.sent(1, 2, 5)).toEqual(both[0]);
    const other = store.add(1, { ...sent, sha256: sha256Of("y") }, bytesOf("y"));
    await expect(other).rejects.toMatchObject({ code: "artifact-taken" });
    expect(await contents(directory)).toEqual([sha256Of("x")]);
  }));

test("what is on its way when its build is removed does not come back", () =>
  inDirectory(async (directory) => {
    const store = await openIn(directory);
    const [begun, go] = [deferred<undefined>(), deferred<undefined>()];
    const slow = async function* (): AsyncGenerator<Buffer, void> {
      yield Buffer.from("la");
      begun.resolve(undefined);
      await go.promise;
      yield Buffer.from("te");
    };
    const late = store.add(1, { name: "late" }, slow());
    await begun.promise;
    await store.remove(1);
    // A new build of this number is another one.
    await store.add(1, { name: "new" }, bytesOf("new"));
    go.resolve(undefined);
    await expect(late).rejects.toMatchObject({ code: "artifacts-removed" });
    expect(store.list(1).map(({ name }) => name)).toEqual(["new"]);
    expect([await contents(directory), await parts(directory)]).toEqual([[sha256Of("new")], []]);
  }));

test("nothing is seen of bytes that are wrong, too many, or break off", () =>
  inDirectory(async (directory) => {
    const store = await openIn(directory, 4);
    const wrong = store.add(1, { name: "a", sha256: sha256Of("other") }, bytesOf("abc"));
    await expect(wrong).rejects.toMatchObject({ code: "artifact-digest" });
    await expect(store.add(1, { name: "a" }, bytesOf("abc", "de"))).rejects.toMatchObject({ code: "artifact-limit" });
    const broken = async function* (): AsyncGenerator<Buffer, void> {
      yield Buffer.from("ab");
      throw new Error("gone");
    };
    await expect(store.add(1, { name: "a" }, broken())).rejects.toThrow("gone");
    expect(store.list(1)).toEqual([]);
    expect([...(await contents(directory)), ...(await parts(directory))]).toEqual([]);
  }));

test("a start finds what was there, and removes what a crash has left", () =>
  inDirectory(async (directory) => {
    const store = await openIn(directory);
    await store.add(1, { name: "a" }, bytesOf("a"));
    await store.add(1, { name: "b" }, bytesOf("b"));
    const list = join(directory, "builds", "1.jsonl");
    const whole = await readFile(list, "utf8");
    await writeFile(join(directory, "content", ".parts", "half"), "half");
    await writeFile(join(directory, "content", sha256Of("nobody's")), "nobody's");
    const lines = whole.split("\n");
    for (const torn of ["", '{"artifactId":3', "\0\0\0\n"]) {
      await writeFile(list, whole);
      await appendFile(list, torn);
      expect((await openIn(directory)).list(1)).toEqual(store.list(1));
      expect(await readFile(list, "utf8")).toBe(whole);
    }
    expect((await contents(directory)).toSorted()).toEqual([sha256Of("a"), sha256Of("b")].toSorted());
    expect(await parts(directory)).toEqual([]);
    await writeFile(list, `${lines[0]}\n${lines[1]?.slice(0, 20)}`);
    const again = await openIn(directory);
    expect(again.list(1).map(({ name }) => name)).toEqual(["a"]);
    expect(await again.add(1, { name: "c" }, bytesOf("c"))).toMatchObject({ artifactId: 2 });
    await rm(list);
    expect((await openIn(directory)).list(1)).toEqual([]);
    expect(await contents(directory)).toEqual([]);
  }));
