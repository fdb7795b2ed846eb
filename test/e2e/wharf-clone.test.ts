import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { clone, projectDirectory } from "../../src/dialects/wharf/clone/clone.ts";
import type { CloneRequest } from "../../src/dialects/wharf/clone/clone-steps.ts";
import { readSourceUrl } from "../../src/kernel/git/index.ts";
import {
  bareRepository,
  commitFiles,
  git,
  gitOverHttp,
  type GitServer,
  plainGit,
  sshServer,
  type SshServer,
} from "../support/git-servers.ts";

// Real servers of Git, as projects have them: HTTP with a token, by Git's own program, and SSH with a key.

const token = "t0ken-of-the-project";
let root: string;
let http: GitServer;
let ssh: SshServer;
let first: string;
let second: string;
let count = 0;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "slipway-clone-")));
  first = bareRepository(root, "p.git", { ".wharf-ci.yml": "first", "sub/dir/file": "x" });
  const work = `${root}/p.git.work`;
  git(work, "tag", "v1");
  git(work, "checkout", "-q", "-b", "topic/one");
  second = commitFiles(work, { file: "topic" }, "second");
  // A branch of the tag's name, which must not be taken for it.
  git(work, "branch", "v1");
  git(work, "push", "-q", `${root}/p.git`, "refs/heads/topic/one", "refs/heads/v1", "refs/tags/v1");
  http = await gitOverHttp(root, { token });
  ssh = await sshServer(root);
});
afterAll(async () => {
  await http?.close();
  await ssh?.close();
  await rm(root, { recursive: true, force: true });
});

async function cloneIt(url: string, more: Partial<CloneRequest> = {}, environment: Record<string, string> = {}) {
  const source = readSourceUrl(url, { allowLocal: true });
  if (!source.ok) throw new Error(source.error);
  const directory = `${root}/clone-${++count}`;
  const said: string[] = [];
  const world = {
    // Git writes down the words of every program that it is or starts.
    environment: { ...plainGit(`${root}/nobody`), GIT_TRACE2_EVENT: `${directory}.trace`, ...environment },
    clock: systemClock,
    signal: new AbortController().signal,
    say: (line: string) => void said.push(line),
  };
  const result = await clone({ source: source.value, directory, ...more }, world);
  return { result, directory, said, trace: await readFile(`${directory}.trace`, "utf8") };
}

const at = (directory: string) => git(directory, "rev-parse", "HEAD");
const httpUrl = () => `http://127.0.0.1:${http.port}/p.git`;
const sshUrl = () => `ssh://127.0.0.1:${ssh.port}${root}/p.git`;

describe.each(["http", "ssh"])("over %s", (scheme) => {
  const url = () => (scheme === "http" ? httpUrl() : sshUrl());
  const credentials = (): [Partial<CloneRequest>, Record<string, string>] =>
    scheme === "http" ? [{ token }, {}] : [{}, { GIT_SSH_COMMAND: ssh.command() }];
  const take = (more: Partial<CloneRequest> = {}) => {
    const [request, environment] = credentials();
    return cloneIt(url(), { ...request, ...more }, environment);
  };

  test("the default branch, another one, a tag and a commit", async () => {
    const main = await take();
    expect(main.result).toEqual({ ok: true, value: undefined });
    expect([at(main.directory), git(main.directory, "branch", "--show-current")]).toEqual([first, "main"]);
    const topic = await take({ branch: "topic/one" });
    expect([at(topic.directory), git(topic.directory, "branch", "--show-current")]).toEqual([second, "topic/one"]);
    expect(git(topic.directory, "remote", "get-url", "origin")).toBe(url());
    const tag = await take({ ref: "refs/tags/v1" });
    expect([at(tag.directory), git(tag.directory, "tag", "--points-at", "HEAD")]).toEqual([first, "v1"]);
    const commit = await take({ branch: "main", commit: second });
    expect(at(commit.directory)).toBe(second);
  });

  test("a name that is not there is told at once, in Git's words", async () => {
    const branch = await take({ branch: "nope" });
    expect(branch.result).toMatchObject({ ok: false, error: { reason: "NotFound" } });
    expect(branch.said.join("\n")).toContain("Remote branch nope not found");
    expect(branch.said.join("\n")).not.toContain("trying again");
    const commit = await take({ commit: "0123456789012345678901234567890123456789" });
    expect(commit.result).toMatchObject({ ok: false, error: { reason: "NotFound" } });
    await expect(readdir(commit.directory)).rejects.toThrow("ENOENT");
  });
});

test("a token is in no argument list, no file and nothing that is said, be it right or wrong", async () => {
  const right = await cloneIt(httpUrl(), { token });
  expect(right.result.ok).toBe(true);
  const inAddress = await cloneIt(httpUrl().replace("//", `//me:${token}@`));
  expect(inAddress.result.ok).toBe(true);
  for (const { trace, said, directory } of [right, inAddress]) {
    expect(trace).toContain(`"--","${httpUrl()}","${directory}"]`);
    expect(trace).toContain(`"remote-http","origin","${httpUrl()}"]`);
    expect(trace + said.join("\n")).not.toContain(token);
    expect(await readFile(`${directory}/.git/config`, "utf8")).not.toContain(token);
  }
  const before = http.requests();
  const wrong = await cloneIt(httpUrl(), { token: "wrong-t0ken" });
  expect(wrong.result).toMatchObject({ ok: false, error: { reason: "Authentication" } });
  expect(wrong.said.join("\n")).toContain("Authentication failed");
  expect(wrong.trace + JSON.stringify(wrong.result) + wrong.said.join("\n")).not.toContain("wrong-t0ken");
  // Without one and with one: nobody tries three times what can only fail.
  expect(http.requests() - before).toBeLessThanOrEqual(3);
  expect((await cloneIt(httpUrl())).result).toMatchObject({ ok: false, error: { reason: "Authentication" } });
});

test("a server whose key nobody knows is not spoken to", async () => {
  const { result, said } = await cloneIt(sshUrl(), {}, { GIT_SSH_COMMAND: ssh.command("unknown") });
  expect(result).toMatchObject({ ok: false, error: { reason: "Authentication" } });
  expect(said.join("\n")).toContain("Host key verification failed");
});

test("what may pass by itself is tried again after one second and after four", async () => {
  const clock = new FakeClock();
  const failing = await gitOverHttp(root, { failures: 1000 });
  const source = readSourceUrl(`http://127.0.0.1:${failing.port}/p.git`, { allowLocal: false });
  if (!source.ok) throw new Error(source.error);
  const said: string[] = [];
  const cloning = clone(
    { source: source.value, directory: `${root}/again` },
    { environment: plainGit(root), clock, signal: new AbortController().signal, say: (line) => void said.push(line) },
  );
  const waited = (what: string) => expect.poll(() => said.join("\n")).toContain(what);
  await waited("trying again in 1 s");
  await clock.advance(1000);
  await waited("trying again in 4 s");
  await clock.advance(4000);
  expect(await cloning).toMatchObject({ ok: false, error: { reason: "Unreachable" } });
  expect(failing.requests()).toBe(3);
  await failing.close();
});

test("the directory of the project is inside of the clone", async () => {
  const { directory } = await cloneIt(`${root}/p.git`);
  expect(await projectDirectory(directory, undefined)).toEqual({ ok: true, value: directory });
  expect(await projectDirectory(directory, "sub/dir")).toEqual({ ok: true, value: `${directory}/sub/dir` });
  expect(await projectDirectory(directory, "nope")).toMatchObject({ ok: false });
  expect(await projectDirectory(directory, "sub/dir/file")).toMatchObject({ ok: false });
  expect(await projectDirectory(directory, "../p.git")).toMatchObject({ ok: false });
});
