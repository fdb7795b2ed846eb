import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildsOf, claimDirectory, ownRoot } from "./place.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-place-"));
});
afterEach(() => rm(directory, { recursive: true }));

const uid = process.getuid?.() ?? 0;
const own = (name: string): string => join(directory, name);

test("results lie in a directory that is closed to others, also when it was open", async () => {
  expect(await ownRoot(directory)).toBe(own("iver-wharf"));
  expect((await stat(own("iver-wharf"))).mode & 0o777).toBe(0o700);
  await rm(own("iver-wharf"), { recursive: true });
  await mkdir(own("iver-wharf"), { mode: 0o755 });
  expect(await ownRoot(directory)).toBe(own("iver-wharf"));
  expect((await stat(own("iver-wharf"))).mode & 0o777).toBe(0o700);
});

test("a link, a file or somebody else's directory of that name is not entered", async () => {
  const elsewhere = own("elsewhere");
  await mkdir(elsewhere);
  // Whatever the umask takes of what is made anew.
  await chmod(elsewhere, 0o755);
  await symlink(elsewhere, own("iver-wharf"));
  expect(await ownRoot(directory)).toBe(own(`iver-wharf-${uid}`));
  expect((await stat(elsewhere)).mode & 0o777).toBe(0o755);
  await rm(own(`iver-wharf-${uid}`), { recursive: true });
  await writeFile(own(`iver-wharf-${uid}`), "");
  await expect(ownRoot(directory)).rejects.toMatchObject({ code: "results-place" });
  await rm(own("iver-wharf"));
  await mkdir(own("iver-wharf"));
  // To another user it is somebody else's.
  await expect(ownRoot(directory, uid + 1)).rejects.toMatchObject({ code: "results-place" });
});

test("a build never gets another's directory", async () => {
  const wanted = join(buildsOf(directory), "7");
  const claims = Array.from({ length: 8 }, () => claimDirectory(wanted, "build.json", "{}"));
  const claimed = await Promise.all(claims);
  expect(new Set(claimed).size).toBe(8);
  expect(claimed.toSorted()).toEqual([wanted, ...[2, 3, 4, 5, 6, 7, 8].map((at) => `${wanted}.${at}`)]);
  for (const path of claimed) expect(await readdir(path)).toEqual(["build.json"]);
  expect(await readFile(join(wanted, "build.json"), "utf8")).toBe("{}");
});

test("an empty directory is taken as it is asked for, one with something in it is left alone", async () => {
  await mkdir(own("empty"), { mode: 0o755 });
  expect(await claimDirectory(own("empty"), "build.json", "{}")).toBe(own("empty"));
  expect((await lstat(own("empty"))).mode & 0o777).toBe(0o700);
  await mkdir(own("full"));
  await writeFile(own("full/file"), "");
  expect(await claimDirectory(own("full"), "build.json", "{}")).toBe(own("full.2"));
  expect(await readdir(own("full"))).toEqual(["file"]);
});

test("results in a repository do not make it dirty", async () => {
  await mkdir(own("repository/.git"), { recursive: true });
  const claimed = await claimDirectory(own("repository/out/7"), "build.json", "{}");
  expect(await readFile(join(claimed, ".gitignore"), "utf8")).toBe("*\n");
});
