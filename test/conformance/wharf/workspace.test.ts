import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import {
  git,
  newDirectory,
  openedRepository,
  treeOf,
  writeFiles,
} from "#dialects/wharf/repository/testing/projects.ts";

const { signal } = new AbortController();
let root: string;
let project: string;

/** For what hangs: in the long form ten thousand files are copied and read, of which a busy machine makes a minute. */
const limit = { timeout: 180_000 };

const plain = Object.fromEntries(
  Array.from({ length: rounds(1_000, 10_000) }, (_, at) => [`many/${at % 100}/file ${at}`, `content of ${at}\n`]),
);
const odd = {
  "a b/c d": "spaces",
  "line\nbreak": "newline",
  [`${"ä".repeat(100)}/${"ö".repeat(100)}`]: "names of 200 bytes",
  inside: "-> a b/c d",
  dangling: "-> not/there",
  outside: "-> /etc/hostname",
  "run.sh": "#!/bin/sh\n",
  ".hidden/.file": "hidden",
  ".gitignore": "*.o\n/build/\n",
  "below/.gitignore": "cache\n!kept.o\n",
  "below/kept.o": "not ignored after all",
};
const ignored = {
  "x.o": "ignored",
  "build/out": "ignored",
  "below/deep/y.o": "ignored below",
  "below/cache/z": "ignored by a file below",
};

beforeAll(async () => {
  root = await newDirectory();
  project = join(root, "project");
  await mkdir(project);
  await writeFiles(project, { ...plain, ...odd });
  await chmod(join(project, "run.sh"), 0o755);
  git(project, "init", "--quiet");
  // Git would tidy up behind our back.
  git(project, "config", "gc.auto", "0");
  git(project, "add", ".");
  git(project, "commit", "--quiet", "-m", "all");
  git(project, "gc", "--quiet");
  await writeFiles(project, { ...ignored, "new file": "not added" });
}, limit.timeout);
afterAll(() => rm(root, { recursive: true, force: true }), limit.timeout);

/** Everything in a directory by its path, with the names of directories left out that have nothing else in them. */
async function filesOf(directory: string): Promise<Readonly<Record<string, string>>> {
  const tree = Object.entries(await treeOf(directory));
  return Object.fromEntries(tree.filter(([, content]) => !content.startsWith("directory ")));
}

/** Paths that are not alike in both. */
const differences = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>) =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((path) => one[path] !== other[path]).sort();

/** A workspace of the project, as every step has one. */
async function workspace(name: string, options: { readonly withIgnored?: boolean; readonly withoutGit?: boolean }) {
  const work = join(root, name);
  await mkdir(work);
  const { repository, warnings } = await openedRepository(project, work, options);
  expect(warnings).toEqual([]);
  await repository.copyTo(join(work, "1"), [], signal);
  return join(work, "1");
}

test(
  "a workspace has every file that is not ignored, as it is, and Git in it finds nothing to tell",
  limit,
  async () => {
    const here = await workspace("kept", {});
    const lost = differences(await filesOf(project), await filesOf(here));
    expect(lost).toEqual(Object.keys(ignored).sort());
    expect(git(here, "status", "--porcelain")).toBe('?? "new file"\n');
    expect(git(project, "status", "--porcelain")).toBe('?? "new file"\n');
  },
);

test("or all files, if that is wanted", limit, async () => {
  const here = await workspace("all", { withIgnored: true });
  expect(differences(await filesOf(project), await filesOf(here))).toEqual([]);
});

test("or none of what Git keeps", limit, async () => {
  const here = await workspace("bare", { withoutGit: true });
  const paths = Object.keys(await filesOf(here));
  expect(paths.toSorted()).toEqual([...Object.keys(plain), ...Object.keys(odd), "new file"].sort());
});
