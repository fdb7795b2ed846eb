import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ArtifactError, type ArtifactWish, packArtifact, unpackArtifact } from "./index.ts";
import { longHeader, makeTar, type Whole } from "./testing/index.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-artifacts-"));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function pack(path: string, more: Partial<ArtifactWish> = {}) {
  const packed = await packArtifact(root, { name: "a", path, ...more });
  if (packed === undefined) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of packed.bytes) chunks.push(Buffer.from(chunk));
  const { bytes: _read, ...rest } = packed;
  return { ...rest, bytes: Buffer.concat(chunks) };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const unpack = (bytes: Buffer, path: string, archive?: "tar.gz") =>
  unpackArtifact(once(bytes), archive === undefined ? {} : { archive }, join(root, path));

async function makeTree(at: string): Promise<void> {
  await mkdir(join(root, at, "bin"), { recursive: true });
  await mkdir(join(root, at, "empty"));
  await writeFile(join(root, at, "bin/run"), "#!/bin/sh\n");
  await chmod(join(root, at, "bin/run"), 0o755);
  await writeFile(join(root, at, `${"long-".repeat(40)}ü`), Buffer.alloc(70_000, 7));
  await symlink("bin/run", join(root, at, "start"));
  await symlink("../start", join(root, at, "bin/up"));
}

describe("a directory", () => {
  it("comes back with its contents, rights and links", async () => {
    await makeTree("tree");
    const packed = await pack("tree");
    expect(packed?.archive).toBe("tar.gz");
    await unpack(packed?.bytes ?? Buffer.alloc(0), "deep/er/copy", "tar.gz");
    const copy = join(root, "deep/er/copy");
    expect((await readdir(copy, { recursive: true })).sort()).toEqual(
      (await readdir(join(root, "tree"), { recursive: true })).sort(),
    );
    expect((await lstat(join(copy, "bin/run"))).mode & 0o777).toBe(0o755);
    expect(await readFile(join(copy, `${"long-".repeat(40)}ü`))).toEqual(Buffer.alloc(70_000, 7));
    expect(await readlink(join(copy, "bin/up"))).toBe("../start");
  });

  it("is the same bytes wherever, whenever and in whatever order it was made", async () => {
    await makeTree("tree");
    await mkdir(join(root, "other/empty"), { recursive: true });
    await symlink("bin/run", join(root, "other/start"));
    await mkdir(join(root, "other/bin"));
    await symlink("../start", join(root, "other/bin/up"));
    await writeFile(join(root, "other", `${"long-".repeat(40)}ü`), Buffer.alloc(70_000, 7));
    await writeFile(join(root, "other/bin/run"), "#!/bin/sh\n");
    await chmod(join(root, "other/bin/run"), 0o755);
    expect((await pack("other"))?.bytes).toEqual((await pack("tree"))?.bytes);
  });

  it("is an archive that other programs read", async () => {
    await makeTree("tree");
    await writeFile(join(root, "tree.tar.gz"), (await pack("tree"))?.bytes ?? "");
    const listed = execFileSync("tar", ["-tzf", join(root, "tree.tar.gz")], { encoding: "utf8" });
    expect(listed.split("\n")).toContain("bin/run");
  });

  it("keeps rights that are none, and names and targets that no header holds", async () => {
    const parts = ["d".repeat(90), "e".repeat(120), "ä".repeat(100)];
    const deep = parts.join("/");
    await mkdir(join(root, "tree", deep), { recursive: true });
    await writeFile(join(root, "tree", deep, "file"), "text");
    await symlink(`${deep}/file`, join(root, "tree/far"));
    // Only the administrator reads what nobody may read.
    const rights = process.getuid?.() === 0 ? 0 : 0o400;
    await chmod(join(root, "tree", deep, "file"), rights);
    const packed = await pack("tree");
    await unpack(packed?.bytes ?? Buffer.alloc(0), "copy", "tar.gz");
    expect((await lstat(join(root, "copy", deep, "file"))).mode & 0o777).toBe(rights);
    expect(await readlink(join(root, "copy/far"))).toBe(`${deep}/file`);
    await writeFile(join(root, "tree.tar.gz"), packed?.bytes ?? "");
    await mkdir(join(root, "others"));
    execFileSync("tar", ["-xzf", join(root, "tree.tar.gz"), "-C", join(root, "others")]);
    expect((await readdir(join(root, "others"), { recursive: true })).sort()).toEqual(
      (await readdir(join(root, "tree"), { recursive: true })).sort(),
    );
  });

  it("is read at the pace of its reader, and let go of when nobody reads on", async () => {
    await mkdir(join(root, "tree"));
    const big = join(root, "tree/big");
    await writeFile(big, randomBytes(8 * 1024 * 1024));
    const packed = await packArtifact(root, { name: "a", path: "tree" });
    const reader = packed?.bytes[Symbol.asyncIterator]();
    await reader?.next();
    // Whoever reads ahead without end does so within a few turns of the loop.
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(await positionsIn(big)).toHaveLength(1);
    expect((await positionsIn(big))[0]).toBeLessThan(2 * 1024 * 1024);
    await reader?.return?.();
    expect(await positionsIn(big)).toEqual([]);
  });

  it("is refused with archive: none, and with what has no place in an archive", async () => {
    await makeTree("tree");
    await expect(pack("tree", { archive: "none" })).rejects.toThrow("tree is a directory");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, "tree/socket"), resolve));
    await expect(pack("tree")).rejects.toThrow("tree/socket is neither a file nor a directory nor a link");
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(["/etc/passwd", "../../etc", "bin/../../x", "..", "a/../../../b"])(
    "is refused with a link to %s",
    async (target) => {
      await makeTree("tree");
      await symlink(target, join(root, "tree/bad"));
      await expect(pack("tree")).rejects.toThrow("the link tree/bad leads out of the artifact");
    },
  );
});

describe("a file", () => {
  it("is stored as it is, and knows whether it may be run", async () => {
    await writeFile(join(root, "file"), "text");
    expect(await pack("file")).toEqual({ bytes: Buffer.from("text") });
    await chmod(join(root, "file"), 0o700);
    expect((await pack("file"))?.executable).toBe(true);
  });

  it("can be archived by itself", async () => {
    await writeFile(join(root, "file"), "text");
    const packed = await pack("file", { archive: "tar.gz" });
    await unpack(packed?.bytes ?? Buffer.alloc(0), "copy", "tar.gz");
    expect(await readFile(join(root, "copy"), "utf8")).toBe("text");
  });

  it("that is not there is undefined", async () => {
    await writeFile(join(root, "file"), "text");
    expect(await pack("nothing")).toBeUndefined();
    expect(await pack("file/below")).toBeUndefined();
  });

  it("is not looked for through links", async () => {
    await mkdir(join(root, "real"));
    await writeFile(join(root, "real/file"), "text");
    await symlink("real", join(root, "alias"));
    await expect(pack("alias/file")).rejects.toThrow("alias/file leads elsewhere by a link");
    await expect(pack("alias")).rejects.toThrow("alias leads elsewhere by a link");
  });
});

/** How far this process has read of a file, for each time it has it open. */
async function positionsIn(path: string): Promise<readonly number[]> {
  const positions: number[] = [];
  for (const descriptor of await readdir("/proc/self/fd")) {
    if ((await readlink(`/proc/self/fd/${descriptor}`).catch(() => "")) !== path) continue;
    const info = await readFile(`/proc/self/fdinfo/${descriptor}`, "utf8");
    positions.push(Number(/^pos:\s*(\d+)$/m.exec(info)?.[1]));
  }
  return positions;
}

/** An archive as nobody here makes it: what is no directory and no link is a file. */
const crafted = async (...entries: readonly (Partial<Whole> & { readonly name: string })[]): Promise<Buffer> =>
  gzipSync(await makeTar(entries.map((entry) => ({ type: "file", body: Buffer.from("evil"), ...entry }))));

describe("an archive of a stranger", () => {
  const top = { name: ".", type: "directory", mode: 0o755 } as const;

  it.each([
    ["climbs", crafted(top, { name: "../evil" })],
    ["climbs from below", crafted(top, { name: "a", type: "directory" }, { name: "a/../../evil" })],
    ["is absolute", crafted(top, { name: "/tmp/slipway-evil" })],
    ["writes through a link", crafted(top, { name: "l", type: "symlink", linkname: "x" }, { name: "l/evil" })],
    ["links out", crafted(top, { name: "l", type: "symlink", linkname: "../.." })],
    ["links out by the root", crafted(top, { name: "l", type: "symlink", linkname: "/" })],
    ["says a name twice", crafted(top, { name: "a" }, { name: "a" })],
    ["replaces a link", crafted(top, { name: "l", type: "symlink", linkname: "a" }, { name: "l" })],
    ["links to a file of its own", crafted(top, { name: "a" }, { name: "l", type: "link", linkname: "a" })],
    ["has a device", crafted(top, { name: "null", type: "character-device", devmajor: 1, devminor: 3 })],
    ["has a name that is none", crafted(top, { name: "a", pax: { path: "a\0b" } })],
    ["has no root", crafted({ name: "a" })],
    ["is empty", crafted()],
    ["is cut off", crafted(top, { name: "a" }).then((bytes) => bytes.subarray(0, 40))],
    ["is no archive", Promise.resolve(Buffer.from("hello"))],
  ])("that %s leaves nothing behind", async (_what, bytes) => {
    await mkdir(join(root, "in"));
    await expect(unpack(await bytes, "in/copy", "tar.gz")).rejects.toThrow(ArtifactError);
    expect(await readdir(join(root, "in"))).toEqual([]);
    expect(await readdir(root)).toEqual(["in"]);
  });

  it("that is small and unpacks to more than a disk is refused before anything is written", async () => {
    const tar = await makeTar([top, { name: "zeros", type: "file" }]);
    const at = 512 + 124;
    // The size of the second entry, and the sum of its header.
    tar.write((40 * 1024 ** 3).toString(8).padStart(12, "0"), at, "latin1");
    tar.fill(" ", 512 + 148, 512 + 156);
    const sum = tar.subarray(512, 1024).reduce((all, byte) => all + byte, 0);
    tar.write(sum.toString(8).padStart(6, "0"), 512 + 148, "latin1");
    await mkdir(join(root, "in"));
    const unpacked = unpack(gzipSync(Buffer.concat([tar, Buffer.alloc(512 * 1024)])), "in/copy", "tar.gz");
    await expect(unpacked).rejects.toMatchObject({ reason: "ArtifactTooLarge" });
    expect(await readdir(join(root, "in"))).toEqual([]);
  });

  it("with a header that says it is gigabytes long is not kept in memory", async () => {
    const zipped = Readable.from(longHeader(7 * 1024 ** 3)).pipe(createGzip());
    const unpacked = unpackArtifact(zipped, { archive: "tar.gz" }, join(root, "copy"));
    await expect(unpacked).rejects.toThrow("the archive cannot be read: Header exceeds max size");
    expect(await readdir(root)).toEqual([]);
  });

  it.each(["gnu", "posix"])("that keeps sparse files as others do (%s) is refused", async (format) => {
    await mkdir(join(root, "tree"));
    await writeFile(join(root, "tree/holes"), "");
    await truncate(join(root, "tree/holes"), 1024 * 1024);
    const archive = join(root, "tree.tar.gz");
    execFileSync("tar", [`--format=${format}`, "--sparse", "-czf", archive, "-C", join(root, "tree"), "."]);
    await expect(unpack(await readFile(archive), "copy", "tar.gz")).rejects.toThrow(/holes" of the archive is/);
  });
});
