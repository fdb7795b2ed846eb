import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endOfArchive, paddingAfter, type TarEntry, tarHeader } from "#lib/tar/index.ts";
import { type ArtifactWish, packArtifact, unpackArtifact } from "./index.ts";

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

/** An archive as nobody here makes it. */
const crafted = (...entries: readonly (Partial<TarEntry> & { readonly path: string })[]): Buffer =>
  gzipSync(
    Buffer.concat([
      ...entries.flatMap((entry) => {
        const whole: TarEntry = { type: "file", mode: 0o644, size: entry.type === undefined ? 4 : 0, ...entry };
        return [tarHeader(whole), Buffer.from("evil").subarray(0, whole.size), Buffer.alloc(paddingAfter(whole.size))];
      }),
      endOfArchive,
    ]),
  );

describe("an archive of a stranger", () => {
  const top = { path: ".", type: "directory", mode: 0o755 } as const;

  it.each([
    ["climbs", crafted(top, { path: "../evil" })],
    ["climbs from below", crafted(top, { path: "a", type: "directory" }, { path: "a/../../evil" })],
    ["is absolute", crafted(top, { path: "/tmp/slipway-evil" })],
    ["writes through a link", crafted(top, { path: "l", type: "link", target: "x" }, { path: "l/evil" })],
    ["links out", crafted(top, { path: "l", type: "link", target: "../.." })],
    ["links out by the root", crafted(top, { path: "l", type: "link", target: "/" })],
    ["says a name twice", crafted(top, { path: "a" }, { path: "a" })],
    ["replaces a link", crafted(top, { path: "l", type: "link", target: "a" }, { path: "l" })],
    ["has no root", crafted({ path: "a" })],
    ["is empty", crafted()],
    ["is cut off", crafted(top, { path: "a" }).subarray(0, 40)],
    ["is no archive", Buffer.from("hello")],
  ])("that %s leaves nothing behind", async (_what, bytes) => {
    await mkdir(join(root, "in"));
    await expect(unpack(bytes, "in/copy", "tar.gz")).rejects.toThrow();
    expect(await readdir(join(root, "in"))).toEqual([]);
    expect(await readdir(root)).toEqual(["in"]);
  });
});
