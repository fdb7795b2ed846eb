import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeDirectories } from "#lib/base/index.node.ts";
import { askNames } from "../repository/list-names.ts";
import { told } from "../testing/prepared.ts";
import { readDefinitionFile } from "./definition-file.ts";
import { askGit } from "./git.ts";
import { readDefinition } from "./read-definition.ts";
import { observeSurroundings } from "./surroundings.ts";

let root: string;
const { signal } = new AbortController();
const definition = "a: {b: {container: {image: x, cmds: [y]}}}\n";

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "slipway-wharf-")));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text: string | Uint8Array): Promise<string> {
  await makeDirectories(dirname(join(root, path)));
  await writeFile(join(root, path), text);
  return join(root, path);
}

/** Git as if nobody had ever set it up, and with its clock under our hand. */
const gitEnvironment = (time = 1_600_000_000) => ({
  PATH: process.env["PATH"],
  HOME: join(root, "nobody"),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CEILING_DIRECTORIES: root,
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "c",
  GIT_COMMITTER_EMAIL: "c@example.org",
  GIT_AUTHOR_DATE: "1500000000 +0200",
  GIT_COMMITTER_DATE: `${time} +0000`,
});
const world = (home = "nobody") => ({
  home: join(root, home),
  platform: "linux",
  variable: () => undefined,
  root: join(root, "machine"),
  environment: gitEnvironment(),
  signal,
});

describe("the file of a definition", () => {
  test("is found by its directory, its name, or as any file that is named as one", async () => {
    const path = await write("found/.wharf-ci.yml", definition);
    await write("found/other.yml", definition);
    const find = async (place: object) => {
      const found = await readDefinitionFile({ directory: join(root, "found"), ...place });
      return found.ok ? [found.value.path, found.value.projectDirectory] : found.error;
    };
    const expected = [path, join(root, "found")];
    expect(await find({})).toEqual(expected);
    expect(await find({ path: "../found" })).toEqual(expected);
    expect(await find({ path: ".wharf-ci.yml" })).toEqual(expected);
    expect(await find({ file: "other.yml" })).toEqual([join(root, "found/other.yml"), join(root, "found")]);
    expect(await find({ path: "other.yml" })).toEqual({
      message: "a definition is called .wharf-ci.yml, found other.yml",
      hint: "give it with --file other.yml, or name its directory",
    });
  });

  test("is no pipe, which is not waited for", async () => {
    const path = join(root, "pipe");
    execFileSync("mkfifo", [path]);
    expect(await readDefinitionFile({ directory: root, file: "pipe" })).toEqual({
      ok: false,
      error: { message: `cannot read ${path}: it is no file` },
    });
  });

  test("is looked for above when it is not there", async () => {
    await write("above/.wharf-ci.yml", definition);
    await makeDirectories(join(root, "above/below/deep"));
    expect(await readDefinitionFile({ directory: join(root, "above/below/deep") })).toEqual({
      ok: false,
      error: {
        message: `there is no ${join(root, "above/below/deep/.wharf-ci.yml")}`,
        hint: `did you mean ${join(root, "above")}?`,
      },
    });
  });

  test("is not read further than to see that it is too large", async () => {
    await write("large/.wharf-ci.yml", new Uint8Array(5 * 1024 * 1024).fill(0x23));
    const read = await readDefinition({ directory: join(root, "large") }, {}, world());
    expect(read.ok && read.value.file.bytes.length).toBe(1024 * 1024 + 1);
    expect(read.ok && told(read.value.prepared.diagnostics)).toEqual([
      "- error[too-large] : the file is larger than 1 MiB",
    ]);
  });
});

test("of files with variables the nearest wins, variable by variable, and what cannot be read is told", async () => {
  const levels = ["home/p/x", "home/p"].map((directory) => `${directory}/.wharf-vars.yml`);
  const places = [
    ...levels,
    "home/.config/iver-wharf/wharf-cmd/wharf-vars.yml",
    "machine/etc/iver-wharf/wharf-cmd/wharf-vars.yml",
  ];
  for (const [index, path] of places.entries()) {
    const vars = ["A", "B", "C", "D"].slice(0, index + 1).map((name) => `  ${name}: from-${index}\n`);
    await write(path, `vars:\n${vars.join("")}`);
  }
  await write("home/p/x/.wharf-ci.yml", definition);
  const values = async () => {
    const read = await readDefinition({ directory: join(root, "home/p/x") }, {}, world("home"));
    if (!read.ok) throw new Error(read.error.message);
    return [...read.value.prepared.variables.values()].map(({ name, text }) => `${name}=${text}`);
  };
  expect(await values()).toEqual(["A=from-0", "B=from-1", "C=from-2", "D=from-3"]);
  await rm(join(root, "home/p/x/.wharf-vars.yml"));
  expect(await values()).toEqual(["A=from-1", "B=from-1", "C=from-2", "D=from-3"]);

  await mkdir(join(root, "home/p/x/.wharf-vars.yml"));
  await write("home/p/.wharf-vars.yml", "vars: {A: [1]}\n");
  const around = await observeSurroundings({ ...world("home"), projectDirectory: join(root, "home/p/x") });
  expect(around.diagnostics.map(({ severity, code }) => [severity, code])).toEqual([
    ["warning", "unreadable-file"],
    ["error", "type"],
    ["warning", "no-git"],
  ]);
});

test("files of steps that links lead out of the project are refused, those that stay in it are not", async () => {
  const text =
    "a: {b: {kubectl: {files: [out.yml, in.yml, gone.yml]}}, c: {helm: {chart: c, name: n, namespace: s, repo: r, secret: '', files: [dir/x]}}}\n";
  await write("links/.wharf-ci.yml", text);
  await write("outside/x", "");
  await write("links/real.yml", "");
  await symlink(join(root, "outside/x"), join(root, "links/out.yml"));
  await symlink("real.yml", join(root, "links/in.yml"));
  await symlink(join(root, "outside"), join(root, "links/dir"));
  const read = await readDefinition({ directory: join(root, "links") }, {}, world());
  expect(read.ok && told(read.value.diagnostics).filter((line) => !line.includes("no-git"))).toEqual([
    '1:27 error[path-escape] a/b/kubectl/files[0]: "out.yml" is outside the project directory',
    `1:${text.indexOf("dir/x") + 1} error[path-escape] a/c/helm/files[0]: "dir/x" is outside the project directory`,
  ]);
});

describe("Git", () => {
  const git = (directory: string, time: number, ...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: join(root, directory), env: gitEnvironment(time), encoding: "utf8" }).trim();
  const ask = async (directory: string) => {
    const answer = await askGit(join(root, directory), gitEnvironment(), signal);
    return answer.ok ? answer.value : answer.error;
  };

  test("says branch, commit, newest tag and origin; without a branch, in a work tree, before the first commit", async () => {
    await makeDirectories(join(root, "git"));
    git("git", 1_600_000_000, "init", "-q", "-b", "feature/x");
    expect(await ask("git")).toEqual({ branch: "feature/x", tag: "" });
    git("git", 1_600_000_000, "commit", "-q", "--allow-empty", "-m", "subject\n\nbody");
    git("git", 1_600_000_001, "tag", "-a", "newer", "-m", "t");
    git("git", 1_600_000_000, "tag", "-a", "z-older", "-m", "t");
    git("git", 1_600_000_000, "remote", "add", "origin", "git@h:a/b.git");
    const hash = git("git", 1_600_000_000, "rev-parse", "HEAD");
    const commit = {
      hash,
      shortHash: git("git", 1_600_000_000, "rev-parse", "--short", "HEAD"),
      subject: "subject",
      authorDate: "2017-07-14T04:40:00+02:00",
      committerDate: expect.stringMatching(/^2020-09-13T12:26:40(?:Z|\+00:00)$/),
      count: "1",
    };
    expect(await ask("git")).toEqual({ branch: "feature/x", tag: "newer", url: "git@h:a/b.git", commit });
    git("git", 1_600_000_000, "worktree", "add", "-q", "-b", "tree", "../tree");
    expect(await ask("tree")).toMatchObject({ branch: "tree", commit: { hash } });
    git("git", 1_600_000_000, "checkout", "-q", "--detach");
    expect(await ask("git")).toMatchObject({ branch: "", commit: { hash } });
  });

  test("runs no program that a stranger's repository names", async () => {
    await makeDirectories(join(root, "evil"));
    git("evil", 1_600_000_000, "init", "-q", "-b", "main");
    await write("evil/f", "x");
    git("evil", 1_600_000_000, "add", "f");
    git("evil", 1_600_000_000, "commit", "-q", "-m", "x");
    const hash = git("evil", 1_600_000_000, "rev-parse", "HEAD");
    const mark = join(root, "was-here");
    const settings = {
      "core.fsmonitor": `touch ${mark}; false`,
      "core.repositoryformatversion": "1",
      "extensions.partialClone": "origin",
      "remote.origin.promisor": "true",
      "remote.origin.url": `ext::sh -c touch% ${mark}`,
      "protocol.ext.allow": "always",
    };
    for (const [name, value] of Object.entries(settings)) git("evil", 1_600_000_000, "config", name, value);
    // Git would fetch what is missing.
    await rm(join(root, "evil/.git/objects", hash.slice(0, 2), hash.slice(2)));
    expect(await ask("evil")).toMatchObject({ branch: "main" });
    const directory = join(root, "evil");
    expect(await askNames({ directory, environment: gitEnvironment(), signal })).toBe("f\0");
    expect(existsSync(mark)).toBe(false);
  });

  test("says nothing of a directory that is no repository", async () => {
    await makeDirectories(join(root, "plain"));
    expect(await ask("plain")).toMatch(/not a git repository/);
    expect(await ask("nowhere")).toEqual(expect.any(String));
  });
});
