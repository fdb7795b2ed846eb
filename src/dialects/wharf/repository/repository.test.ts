import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { git, gitEnvironment, newDirectory, openedRepository, treeOf, writeFiles } from "./testing/projects.ts";

let root: string;
let project: string;
let work: string;
const { signal } = new AbortController();

beforeEach(async () => {
  root = await newDirectory();
  project = join(root, "project");
  work = join(root, "work");
  await mkdir(project);
  await mkdir(work);
});
afterEach(async () => {
  execFileSync("chmod", ["-R", "u+rwX", root]);
  await rm(root, { recursive: true, force: true });
});

/** Paths that are copied, without what Git keeps for itself. */
const pathsOf = (entries: readonly { readonly path: string }[]): readonly string[] =>
  entries.map(({ path }) => path).filter((path) => !/(?:^|\/)\.git\//.test(path));

/** The archive, unpacked by the system's own tar. */
async function unpack(archive: AsyncIterable<Buffer>, name = "unpacked"): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk);
  const target = join(root, name);
  await mkdir(target);
  execFileSync("tar", ["-xpf", "-", "-C", target], { input: Buffer.concat(chunks), stdio: "pipe" });
  return target;
}

/** What Git ignores, also below, and what it does not. */
const someFiles = {
  ".gitignore": "*.log\n/out/\n",
  "a.txt": "a",
  "a.log": "ignored",
  "out/made": "ignored",
  "sub/.gitignore": "secret\n!kept.log\n",
  "sub/secret": "ignored",
  "sub/kept.log": "kept",
  "sub/other.log": "ignored",
};

describe("for one step alone", () => {
  test("the copy is what the others would get, and nothing is kept for them", async () => {
    git(project, "init", "--quiet");
    await writeFiles(project, { ...someFiles, "b.txt": "b", link: "-> a.txt" });
    const opened = (isForOne: boolean) => openedRepository(project, work, { isForOne });
    const overlay = [{ path: "b.txt", bytes: Buffer.from("other"), mode: 0o600 }];
    const [one, another] = [join(root, "one"), join(root, "another")];
    await (await opened(true)).repository.copyTo(one, overlay, signal);
    expect(await treeOf(work)).toEqual({});
    await (await opened(false)).repository.copyTo(another, overlay, signal);
    const [copy, known] = [await treeOf(one), await treeOf(another)];
    expect({ ...copy, "b.txt": "" }).toEqual({ ...known, "b.txt": "" });
    await writeFile(join(one, "a.txt"), "of the step");
    expect(await readFile(join(project, "a.txt"), "utf8")).toBe("a");
  });

  test("what is gone when it is copied is left out, and told", async () => {
    await writeFiles(project, { "a.txt": "a", "b.txt": "b" });
    const { repository, warnings } = await openedRepository(project, work, { withIgnored: true, isForOne: true });
    await rm(join(project, "b.txt"));
    await repository.copyTo(join(root, "copy"), [], signal);
    expect(Object.keys(await treeOf(join(root, "copy")))).toEqual(["a.txt"]);
    expect(warnings.map(({ message }) => message)).toEqual(["b.txt is not copied: it disappeared during the copy"]);
  });
});

test("what Git has said before is not asked again, and without it everything is copied", async () => {
  git(project, "init", "--quiet");
  await writeFiles(project, someFiles);
  const said = (asked: Promise<string>) => openedRepository(project, work, { asked });
  const known = await said(Promise.resolve("a.txt\0sub/\0gone\0"));
  expect(pathsOf(known.repository.entries)).toEqual([".git", "a.txt", "sub"]);
  const failed = await said(Promise.reject(new Error("no Git")));
  expect(failed.warnings).toMatchObject([{ code: "no-git", message: expect.stringContaining("no Git") as string }]);
  expect(pathsOf(failed.repository.entries)).toContain("a.log");
});

describe("a linked work tree", () => {
  /** Of a repository with a commit; `bare` is one without a work tree of its own. */
  async function linked(bare: boolean): Promise<string> {
    const origin = join(root, "origin");
    await mkdir(origin);
    await writeFiles(origin, { "a.txt": "a" });
    git(origin, "init", "--quiet", "-b", "main");
    git(origin, "add", "-A");
    git(origin, "commit", "--quiet", "-m", "first");
    if (bare) git(root, "clone", "--quiet", "--bare", "origin", "bare");
    const home = bare ? join(root, "bare") : origin;
    await rm(project, { recursive: true });
    git(home, "worktree", "add", "--quiet", "-b", "tree", project);
    await writeFiles(project, { "a.txt": "changed" });
    return home;
  }

  test.each([false, true])("has a repository of its own in each copy (linked to a bare one: %s)", async (bare) => {
    const home = await linked(bare);
    const before = [await treeOf(home), await treeOf(project)];
    const { repository, warnings } = await openedRepository(project, work);
    const copy = join(root, "copy");
    await repository.copyTo(copy, [], signal);
    const unpacked = await unpack(repository.tar([]));
    for (const directory of [copy, unpacked]) {
      expect(git(directory, "rev-parse", "--abbrev-ref", "HEAD")).toBe("tree\n");
      expect(git(directory, "rev-parse", "--absolute-git-dir")).toBe(`${directory}/.git\n`);
      expect(git(directory, "status", "--porcelain")).toBe(" M a.txt\n");
      git(directory, "commit", "--quiet", "-am", "of a step");
      git(directory, "branch", "new");
      git(directory, "fsck", "--strict");
      expect(git(directory, "log", "--format=%s")).toBe("of a step\nfirst\n");
      expect(git(directory, "worktree", "list").trim().split("\n")).toHaveLength(1);
    }
    expect([await treeOf(home), await treeOf(project)]).toEqual(before);
    expect(warnings).toEqual([]);
  });

  test("has one in the copy for a step alone, too", async () => {
    const home = await linked(true);
    const before = [await treeOf(home), await treeOf(project)];
    const { repository } = await openedRepository(project, work, { isForOne: true });
    const copy = join(root, "copy");
    await repository.copyTo(copy, [], signal);
    git(copy, "commit", "--quiet", "-am", "of a step");
    expect(git(copy, "log", "--format=%s")).toBe("of a step\nfirst\n");
    expect([await treeOf(home), await treeOf(project)]).toEqual(before);
  });

  test("is nobody's repository where nobody wants it, also when what is ignored is copied", async () => {
    await linked(false);
    const none = await openedRepository(project, work, { withoutGit: true });
    expect(none.repository.entries.map(({ path }) => path)).toEqual(["a.txt"]);
    const all = await openedRepository(project, work, { withIgnored: true });
    const copy = join(root, "copy");
    await all.repository.copyTo(copy, [], signal);
    expect(git(copy, "rev-parse", "--absolute-git-dir")).toBe(`${copy}/.git\n`);
  });

  test("with a submodule has that as a repository of its own, too", async () => {
    const module = join(root, "module");
    await mkdir(module);
    await writeFiles(module, { "m.txt": "m" });
    git(module, "init", "--quiet");
    git(module, "add", "-A");
    git(module, "commit", "--quiet", "-m", "module");
    await linked(false);
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "sub");
    const { repository } = await openedRepository(project, work);
    const copy = join(root, "copy");
    await repository.copyTo(copy, [], signal);
    expect(git(join(copy, "sub"), "rev-parse", "--show-toplevel")).toBe(`${copy}/sub\n`);
    expect(git(join(copy, "sub"), "rev-parse", "--absolute-git-dir")).toBe(`${copy}/sub/.git\n`);
    expect(git(join(copy, "sub"), "status", "--porcelain")).toBe("");
  });
});

test("a .git file that leads to a directory of somebody else takes nothing from there", async () => {
  const secret = join(root, "secret");
  await writeFiles(secret, { id_rsa: "key", "refs/x": "", "repository/HEAD": "", "forged/commondir": "../secret" });
  git(join(secret, "repository"), "init", "--quiet");
  await writeFiles(project, {
    "a.txt": "a",
    ".git": `gitdir: ${secret}\n`,
    "one/.git": `gitdir: ${secret}/repository/.git\n`,
    // Pretends to be linked to it: what is in the project may be forged.
    "two/.git": `gitdir: ${project}/forged\n`,
    "forged/commondir": secret,
    "forged/gitdir": `${project}/two/.git\n`,
  });
  const { repository, warnings } = await openedRepository(project, work);
  const copy = join(root, "copy");
  await repository.copyTo(copy, [], signal);
  expect(Object.keys(await treeOf(copy)).sort()).toEqual(
    ["a.txt", "forged", "forged/commondir", "forged/gitdir", "one", "two"].sort(),
  );
  expect(warnings.map(({ code, message }) => [code, message.split(" ")[0]])).toEqual(
    expect.arrayContaining([".git", "one/.git", "two/.git"].map((path) => ["not-copied", path])),
  );
});

describe("what is copied", () => {
  test("what Git knows or would add, hidden files, and what Git keeps", async () => {
    await writeFiles(project, someFiles);
    git(project, "init", "--quiet");
    git(project, "add", "a.txt");
    const { repository, warnings } = await openedRepository(project, work);
    expect(pathsOf(repository.entries)).toEqual([
      ".git",
      ".gitignore",
      "a.txt",
      "sub",
      "sub/.gitignore",
      "sub/kept.log",
    ]);
    expect(repository.entries.map(({ path }) => path)).toContain(".git/HEAD");
    expect(warnings).toEqual([]);
  });

  test("also what is ignored, and without what Git keeps, when that is wanted", async () => {
    await writeFiles(project, someFiles);
    git(project, "init", "--quiet");
    const all = await openedRepository(project, work, { withIgnored: true, withoutGit: true });
    expect(pathsOf(all.repository.entries)).toEqual([...Object.keys(someFiles), "out", "sub"].sort());
    const few = await openedRepository(project, work, { withoutGit: true });
    expect(few.repository.entries.map(({ path }) => path)).not.toContain(".git");
  });

  test("everything, with a warning, where there is no repository", async () => {
    await writeFiles(project, someFiles);
    const { repository, warnings } = await openedRepository(project, work);
    expect(pathsOf(repository.entries)).toEqual([...Object.keys(someFiles), "out", "sub"].sort());
    expect(warnings.map(({ code }) => code)).toEqual(["no-git"]);
  });

  test("of a directory in a repository what is below it, by the rules of what is above", async () => {
    await writeFiles(project, someFiles);
    git(project, "init", "--quiet");
    const { repository } = await openedRepository(join(project, "sub"), work, { environment: gitEnvironment(project) });
    expect(pathsOf(repository.entries)).toEqual([".gitignore", "kept.log"]);
  });

  test("submodules and other work trees inside, by their own rules", async () => {
    const other = join(root, "other");
    await writeFiles(other, { ".gitignore": "x\n", x: "ignored", y: "y" });
    git(other, "init", "--quiet");
    git(other, "add", ".");
    git(other, "commit", "--quiet", "-m", "other");
    await writeFiles(project, { a: "a" });
    git(project, "init", "--quiet");
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", other, "module");
    await writeFiles(project, {
      "module/x": "ignored there",
      "module/z": "new",
      "nested/.gitignore": "n\n",
      "nested/n": "",
    });
    git(join(project, "nested"), "init", "--quiet");
    const { repository } = await openedRepository(project, work);
    expect(pathsOf(repository.entries)).toEqual([
      ".git",
      ".gitmodules",
      "a",
      "module",
      "module/.git",
      "module/.gitignore",
      "module/y",
      "module/z",
      "nested",
      "nested/.git",
      "nested/.gitignore",
    ]);
    const copy = join(work, "copy");
    await repository.copyTo(copy, [], signal);
    expect(git(copy, "status", "--porcelain")).toBe(git(project, "status", "--porcelain"));
    expect(git(join(copy, "module"), "status", "--porcelain")).toBe("?? z\n");
  });

  test("not the submodule that was never fetched, nor what was deleted, nor what lies behind a link in the place of a directory", async () => {
    await writeFiles(project, { "gone/a": "a", kept: "k", "dir/b": "b", "real/b": "elsewhere" });
    git(project, "init", "--quiet");
    git(project, "add", ".");
    git(project, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},module`);
    await mkdir(join(project, "module"));
    await rm(join(project, "gone"), { recursive: true });
    await rm(join(project, "dir"), { recursive: true });
    await symlink("real", join(project, "dir"));
    const { repository, warnings } = await openedRepository(project, work, { withoutGit: true });
    expect(pathsOf(repository.entries)).toEqual(["dir", "kept", "module", "real", "real/b"]);
    expect(warnings).toEqual([]);
  });

  test("neither sockets nor named pipes, which are told, nor directories that are excluded", async () => {
    await writeFiles(project, { a: "a", "results/log": "" });
    execFileSync("mkfifo", [join(project, "pipe")]);
    const server = createServer().listen(join(project, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      const { repository, warnings } = await openedRepository(project, work, { excluded: [join(project, "results")] });
      expect(pathsOf(repository.entries)).toEqual(["a"]);
      expect(warnings.slice(1).map(({ message }) => message)).toEqual([
        "pipe is not copied: it is a named pipe",
        "socket is not copied: it is a socket",
      ]);
    } finally {
      server.close();
    }
  });

  test.each([true, false])("names that are no text are told (also what is ignored: %s)", async (withIgnored) => {
    await writeFiles(project, { a: "a" });
    await writeFile(Buffer.concat([Buffer.from(`${project}/b`), Buffer.from([0xff])]), "");
    git(project, "init", "--quiet");
    const { repository, warnings } = await openedRepository(project, work, { withIgnored, withoutGit: true });
    expect(pathsOf(repository.entries)).toEqual(["a"]);
    expect(warnings.map(({ message }) => message)).toEqual(["b\ufffd is not copied: its name is no UTF-8"]);
  });

  test("a work tree of Git's hooks is not the one that is asked about", async () => {
    await writeFiles(project, someFiles);
    git(project, "init", "--quiet");
    const environment = { PATH: process.env["PATH"], GIT_DIR: "/nowhere", GIT_INDEX_FILE: "/nowhere/index" };
    const { warnings } = await openedRepository(project, work, { environment });
    expect(warnings).toEqual([]);
  });
});

describe("a copy", () => {
  const names = ["with spaces", "with\nnewline", "ä".repeat(100), "-rf", "'\"$(x)"];

  test("is what the project is: links, modes, times, names; and so is the archive", async () => {
    await writeFiles(project, {
      ...Object.fromEntries(names.map((name) => [`${name}/${name}`, name])),
      link: "-> a file",
      "a file": "x",
      dangling: "-> nowhere/at all",
      out: "-> /etc/passwd",
      ["l".repeat(120)]: `-> ${"t".repeat(150)}`,
      empty: "",
      binary: Buffer.from([0, 255, 10, 13]),
    });
    await mkdir(join(project, "hollow"));
    await chmod(join(project, "a file"), 0o755);
    await chmod(join(project, "empty"), 0o400);
    await mkdir(join(project, "closed"));
    await writeFile(join(project, "closed", "inside"), "i");
    await utimes(join(project, "closed", "inside"), 1_000_000_000, 1_000_000_000);
    await chmod(join(project, "closed"), 0o555);
    const { repository, warnings } = await openedRepository(project, work, { withIgnored: true });
    const expected = await treeOf(project);
    await repository.copyTo(join(work, "copy"), [], signal);
    expect(await treeOf(join(work, "copy"))).toEqual(expected);
    expect(await treeOf(await unpack(repository.tar([])))).toEqual(expected);
    expect(Object.keys(expected)).toHaveLength(2 * names.length + 10);
    expect(warnings).toEqual([]);
  });

  test("is of one moment, whatever happens to the project and to other copies", async () => {
    await writeFiles(project, { a: "before", b: "b" });
    const { repository } = await openedRepository(project, work);
    await repository.copyTo(join(work, "first"), [], signal);
    await writeFiles(join(work, "first"), { a: "changed by a step", new: "" });
    await writeFiles(project, { a: "changed by a person" });
    await repository.copyTo(join(work, "second"), [], signal);
    expect(await readFile(join(work, "second", "a"), "utf8")).toBe("before");
    expect(Object.keys(await treeOf(join(work, "second")))).toEqual(["a", "b"]);
    expect(await readFile(join(project, "b"), "utf8")).toBe("b");
  });

  test("has what is different for its step, and nobody else's has", async () => {
    await writeFiles(project, { "d/a": "plain", link: "-> d/a" });
    const { repository } = await openedRepository(project, work);
    const overlay = [
      { path: "d/a", bytes: Buffer.from("other"), mode: 0o600 },
      { path: "made/for it", bytes: Buffer.from("new"), mode: 0o755 },
    ];
    await repository.copyTo(join(work, "own"), overlay, signal);
    await repository.copyTo(join(work, "others"), [], signal);
    expect(await readFile(join(work, "own", "link"), "utf8")).toBe("other");
    expect(Object.keys(await treeOf(join(work, "own")))).toEqual(["d", "d/a", "link", "made", "made/for it"]);
    expect(await readFile(join(work, "others", "d/a"), "utf8")).toBe("plain");
    const unpacked = await unpack(repository.tar(overlay));
    expect(await readFile(join(unpacked, "d/a"), "utf8")).toBe("other");
    expect(await readFile(join(unpacked, "made/for it"), "utf8")).toBe("new");
    expect(await readFile(join(await unpack(repository.tar([]), "plain"), "d/a"), "utf8")).toBe("plain");
  });

  test("is without files that are gone when it is made, which is told once", async () => {
    await writeFiles(project, { a: "a", "d/b": "b" });
    const { repository, warnings } = await openedRepository(project, work, { withIgnored: true });
    await rm(join(project, "d/b"));
    await repository.copyTo(join(work, "first"), [], signal);
    await repository.copyTo(join(work, "second"), [], signal);
    expect(Object.keys(await treeOf(join(work, "second")))).toEqual(["a", "d"]);
    expect(warnings).toEqual([{ code: "not-copied", message: "d/b is not copied: it disappeared during the copy" }]);
  });

  test("ends with its step", async () => {
    await writeFiles(project, { a: "a" });
    const { repository } = await openedRepository(project, work);
    const ended = AbortSignal.abort(new Error("the step is over"));
    await expect(repository.copyTo(join(work, "copy"), [], ended)).rejects.toThrow("the step is over");
    await repository.copyTo(join(work, "next"), [], signal);
  });

  test("of an archive for other users, everybody may write to", async () => {
    await writeFiles(project, { a: "a", run: "", "d/b": "" });
    await chmod(join(project, "run"), 0o750);
    const { repository } = await openedRepository(project, work);
    const unpacked = await treeOf(await unpack(repository.tar([], { isWritable: true })));
    const modes = Object.entries(unpacked).map(([path, text]) => `${path} ${text.split(" ")[1]}`);
    expect(modes).toEqual(["a 666", "d 777", "d/b 666", "run 777"]);
  });

  test("of an archive that brings more than the project, all names begin with its directory, those of one step, too", async () => {
    await writeFiles(project, { a: "a", "d/b": "b" });
    const { repository } = await openedRepository(project, work);
    const overlay = [{ path: "d/c", bytes: Buffer.from("c"), mode: 0o644 }];
    const unpacked = await treeOf(await unpack(repository.tar(overlay, { below: "mnt/repo" })));
    expect(Object.keys(unpacked)).toEqual([
      "mnt",
      "mnt/repo",
      "mnt/repo/a",
      "mnt/repo/d",
      "mnt/repo/d/b",
      "mnt/repo/d/c",
    ]);
  });
});

test("what cannot be read fails, and says what", async () => {
  await writeFiles(project, { a: "a" });
  const { repository } = await openedRepository(project, work);
  await rm(join(project, "a"));
  await mkdir(join(project, "a"));
  await expect(repository.copyTo(join(work, "copy"), [], signal)).rejects.toMatchObject({
    code: "repository-unreadable",
    message: expect.stringContaining("cannot read a: "),
  });
});
