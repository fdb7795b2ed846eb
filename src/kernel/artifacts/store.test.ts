import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { type ArtifactLimits, ArtifactStore } from "./index.ts";

let directory = "";
const clock = new FakeClock();
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), "slipway-store-")), "artifacts");
});
afterEach(async () => {
  await rm(join(directory, ".."), { recursive: true, force: true });
});

const open = (limits?: ArtifactLimits) =>
  new ArtifactStore({ directory, clock, ...(limits === undefined ? {} : { limits }) });

async function* bytes(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(store: ArtifactStore, namespace: string, digest: string): Promise<string> {
  let text = "";
  for await (const chunk of await store.read(namespace, digest)) text += chunk.toString();
  return text;
}

const sha = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const files = async () =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).filter((e) => e.isFile());

describe("what is stored", () => {
  it("is stored when the directory can be looked at again", async () => {
    const store = open();
    await writeFile(directory, "in the way");
    await expect(store.put("a", bytes("hello"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await rm(directory);
    expect(await store.put("a", bytes("hello"))).toEqual({ digest: sha, size: 5 });
  });

  it("is found by its digest, once however often it comes, by nobody but its user", async () => {
    const store = open();
    expect(await store.put("a", bytes("hel", "lo"))).toEqual({ digest: sha, size: 5 });
    expect(await store.put("a", bytes("hello"))).toEqual({ digest: sha, size: 5 });
    expect(await textOf(store, "a", sha)).toBe("hello");
    expect(await files()).toHaveLength(1);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, "a", sha.slice(7)))).mode & 0o777).toBe(0o600);
  });

  it("is not there for other namespaces, nor under names that are no digests", async () => {
    const store = open();
    await store.put("a", bytes("hello"));
    await writeFile(join(directory, "secret"), "secret");
    await expect(store.read("b", sha)).rejects.toThrow("nothing of the digest");
    for (const name of ["sha256:../secret", "../secret", ""])
      await expect(store.read("a", name)).rejects.toThrow("nothing of the digest");
  });

  it("is never served damaged without a word", async () => {
    const store = open();
    await store.put("a", bytes("hello"));
    await chmod(join(directory, "a", sha.slice(7)), 0o600);
    await writeFile(join(directory, "a", sha.slice(7)), "jello");
    await expect(textOf(store, "a", sha)).rejects.toThrow("are damaged");
  });
});

describe("what cannot be stored", () => {
  it("leaves nothing: too large, too much, or broken off", async () => {
    const store = open({ each: 6, total: 8 });
    await expect(store.put("a", bytes("1234", "567"))).rejects.toThrow("larger than 6 bytes");
    await store.put("a", bytes("hello"));
    await expect(store.put("b", bytes("worlds"))).rejects.toThrow("larger than 8 bytes");
    const broken = async function* () {
      yield Buffer.from("12");
      throw new Error("the reader is gone");
    };
    await expect(store.put("a", broken())).rejects.toThrow("the reader is gone");
    expect((await files()).map(({ name }) => name)).toEqual([sha.slice(7)]);
    // What did not succeed does not count.
    await store.put("a", bytes("abc"));
    await expect(store.put("a", bytes("d"))).rejects.toThrow("larger than 8 bytes");
  });

  it("counts what an earlier process has stored, and removes what it was writing when it died", async () => {
    await open().put("a", bytes("hello"));
    await mkdir(join(directory, ".parts"), { recursive: true });
    await writeFile(join(directory, ".parts/left"), "half");
    const store = open({ each: 6, total: 8 });
    await expect(store.put("a", bytes("1234"))).rejects.toThrow("larger than 8 bytes");
    expect((await files()).map(({ name }) => name)).toEqual([sha.slice(7)]);
  });
});

describe("a sweep", () => {
  const isKept = (_namespace: string, digest: string) => digest !== sha;

  it("removes what nobody has mentioned for ten minutes, and makes room", async () => {
    const store = open({ each: 6, total: 8 });
    await store.put("a", bytes("hello"));
    await store.put("a", bytes("abc"));
    expect(await store.sweep(isKept)).toBe(0);
    await clock.advance(9 * 60_000);
    expect(await store.sweep(isKept)).toBe(0);
    await clock.advance(60_000);
    expect(await store.sweep(isKept)).toBe(1);
    await expect(store.read("a", sha)).rejects.toThrow("nothing of the digest");
    await store.put("a", bytes("12345"));
    expect(await readFile(join(directory, "a", (await files())[0]?.name ?? ""))).toBeDefined();
  });

  it("counts what is stored while something is removed", async () => {
    const store = open({ each: 8, total: 14 });
    await store.put("a", bytes("hello"));
    await store.sweep(isKept);
    await clock.advance(20 * 60_000);
    const gate = deferred<void>();
    const coming = async function* () {
      await gate.promise;
      yield Buffer.from("12345678");
    };
    const storing = store.put("a", coming());
    await clock.settle();
    const isMentioned = (): boolean => {
      gate.resolve();
      return false;
    };
    expect(await store.sweep(isMentioned)).toBe(1);
    await storing;
    await expect(store.put("a", bytes("abcdefgh"))).rejects.toMatchObject({ reason: "ArtifactTooLarge" });
  });

  it("spares what was stored or mentioned again meanwhile", async () => {
    const store = open();
    await store.put("a", bytes("hello"));
    await store.sweep(isKept);
    await clock.advance(20 * 60_000);
    await store.put("a", bytes("hello"));
    expect(await store.sweep(isKept)).toBe(0);
    await clock.advance(20 * 60_000);
    expect(await store.sweep(() => true)).toBe(0);
    expect(await store.sweep(isKept)).toBe(0);
    expect(await textOf(store, "a", sha)).toBe("hello");
  });
});
