import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { clientWith, component, deployment, fakeApp, fakeScope, storePresent } from "../ops/testing/fake-scope.ts";
import type { UseCaseParts } from "../sources/parts.ts";
import { pushObjects } from "./push.ts";

const root = mkdtempSync(join(tmpdir(), "slipway-gitops-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const settings = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", PATH: process.env["PATH"], HOME: root };
const git = (directory: string, ...words: readonly string[]) =>
  execFileSync("git", ["-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", ...words], {
    env: settings,
    encoding: "utf8",
  });
const parts = (more: Partial<UseCaseParts> = {}): UseCaseParts => ({
  templates: { renderChart: () => Promise.reject(new Error("no charts here")) },
  directory: join(root, "cache"),
  environment: settings,
  localRoots: [root],
  ...more,
});

let count = 0;
function bare(): string {
  const path = join(root, `repository-${++count}.git`);
  mkdirSync(path);
  git(path, "init", "--quiet", "--bare");
  return path;
}

async function scopeOf(image: string, ...more: Parameters<typeof component>[1][]) {
  const app = fakeApp([component("web", deployment("web", 2, image), ...more)]);
  const scope = Object.assign(fakeScope(app, { clients: { local: clientWith() } }), { clock: systemClock });
  await storePresent(scope);
  return scope;
}
const commits = (path: string) => git(path, "log", "--format=%s", "main").trim().split("\n");
const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, data: {} };
const settingsMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1" } };

test("17.15 14.4 a changed image is one commit with one changed line, and a second run is none", async () => {
  const path = bare();
  const properties = { gitRepo: `file://${path}`, branch: "main", path: "apps/shop" };
  const push = pushObjects(parts());
  expect(await push({ $params: properties }, await scopeOf("nginx:1", secret, settingsMap))).toMatchObject({
    kind: "continue",
    result: { $returns: { changed: true } },
  });
  const files = git(path, "ls-tree", "-r", "--name-only", "main").trim().split("\n");
  expect(files).toEqual(
    [".slipway-objects", "default_configmap_settings.yaml", "default_deployment_web.yaml"].map(
      (name) => `apps/shop/${name}`,
    ),
  );
  const again = await push({ $params: properties }, await scopeOf("nginx:1", settingsMap));
  expect(again).toMatchObject({
    result: { $returns: { changed: false, commit: git(path, "rev-parse", "main").trim() } },
  });
  await push({ $params: { ...properties, message: "new image" } }, await scopeOf("nginx:2", settingsMap));
  expect(commits(path)).toEqual(["new image", "Deploy shop-v1"]);
  expect(git(path, "diff", "--numstat", "main~1", "main").trim()).toBe("1\t1\tapps/shop/default_deployment_web.yaml");
  expect(readdirSync(join(root, "cache"))).toEqual([]);
});

test("files of objects that are gone are deleted, and only those that Slipway wrote", async () => {
  const path = bare();
  const properties = { gitRepo: path, branch: "main" };
  await pushObjects(parts())(properties, await scopeOf("nginx", settingsMap));
  const clone = join(root, `clone-${count}`);
  git(root, "clone", "--quiet", "--branch", "main", path, clone);
  writeFileSync(join(clone, "README.md"), "mine");
  git(clone, "add", "-A");
  git(clone, "commit", "--quiet", "-m", "readme");
  git(clone, "push", "--quiet", "origin", "HEAD:main");
  await pushObjects(parts())(properties, await scopeOf("nginx"));
  expect(git(path, "ls-tree", "--name-only", "main").trim().split("\n")).toEqual([
    ".slipway-objects",
    "README.md",
    "default_deployment_web.yaml",
  ]);
  await pushObjects(parts())({ ...properties, layout: "single", prune: false }, await scopeOf("nginx"));
  expect(git(path, "ls-tree", "--name-only", "main")).toContain("shop.yaml");
});

test("attack: links of the repository lead neither reads nor writes of a push out of it", async () => {
  const path = bare();
  const outside = join(root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "index"), "victim.yaml\n");
  writeFileSync(join(outside, "victim.yaml"), "kept");
  const work = mkdtempSync(join(root, "work-"));
  git(work, "clone", "--quiet", path, ".");
  git(work, "checkout", "--quiet", "-b", "main");
  symlinkSync(join(outside, "index"), join(work, ".slipway-objects"));
  symlinkSync(join(outside, "victim.yaml"), join(work, "default_deployment_web.yaml"));
  writeFileSync(join(work, "victim.yaml"), "the repository's own");
  git(work, "add", "-A");
  git(work, "commit", "--quiet", "-m", "links");
  git(work, "push", "--quiet", "origin", "main");
  const pushed = await pushObjects(parts())({ gitRepo: `file://${path}`, branch: "main" }, await scopeOf("nginx:1"));
  expect(pushed).toMatchObject({ kind: "continue" });
  expect(readdirSync(outside)).toEqual(["index", "victim.yaml"]);
  expect([readFileSync(join(outside, "index"), "utf8"), readFileSync(join(outside, "victim.yaml"), "utf8")]).toEqual([
    "victim.yaml\n",
    "kept",
  ]);
  expect(
    git(path, "ls-tree", "main")
      .replaceAll(/ blob \w+\t/g, " ")
      .trim()
      .split("\n"),
  ).toEqual(["100644 .slipway-objects", "100644 default_deployment_web.yaml", "100644 victim.yaml"]);
  symlinkSync(outside, join(work, "apps"));
  git(work, "pull", "--quiet", "--ff-only", "origin", "main");
  git(work, "add", "-A");
  git(work, "commit", "--quiet", "-m", "a folder");
  git(work, "push", "--quiet", "origin", "main");
  const into = { gitRepo: `file://${path}`, branch: "main", path: "apps" };
  await expect(pushObjects(parts())(into, await scopeOf("nginx:2"))).rejects.toThrow(
    "not a directory of the repository",
  );
});

test("17.15 14.4 a push of somebody else in between is kept", async () => {
  const path = bare();
  const properties = { gitRepo: path, branch: "main" };
  await pushObjects(parts())(properties, await scopeOf("nginx:1"));
  // The server plays the other person: the first push finds a branch that has moved meanwhile.
  const hook = `#!/bin/sh
[ -e "${path}/moved" ] && exit 0
touch "${path}/moved"
unset GIT_QUARANTINE_PATH GIT_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@o GIT_COMMITTER_NAME=o GIT_COMMITTER_EMAIL=o@o
tree=$(git -C "${path}" rev-parse 'main^{tree}')
commit=$(git -C "${path}" commit-tree "$tree" -p main -m other)
git -C "${path}" update-ref refs/heads/main "$commit"
`;
  writeFileSync(join(path, "hooks", "pre-receive"), hook, { mode: 0o755 });
  expect(await pushObjects(parts())(properties, await scopeOf("nginx:2"))).toMatchObject({ kind: "continue" });
  expect(commits(path)).toEqual(["Deploy shop-v1", "other", "Deploy shop-v1"]);
});

test("bad input: addresses, branches, folders and credentials", async () => {
  const push = async (more: object, allowed: Partial<UseCaseParts> = {}) =>
    pushObjects(parts(allowed))({ gitRepo: bare(), branch: "main", ...more }, await scopeOf("nginx"));
  const message = (text: string) => ({ kind: "error", message: expect.stringContaining(text) });
  expect(await push({ gitRepo: "ext::sh -c id" })).toEqual(message("helpers of Git"));
  expect(await push({ gitRepo: "/etc" })).toEqual(message("does not exist below an allowed directory"));
  expect(await push({}, { localRoots: [] })).toEqual(message("the option for local sources"));
  expect(await push({ branch: "--upload-pack=x" })).toEqual(message("branch: expected the name of a branch"));
  expect(await push({ path: "../x" })).toEqual(message("path: expected a folder inside the repository"));
  expect(await push({ path: ".git/hooks" })).toEqual(message("path: expected a folder inside the repository"));
  expect(await push({ credentials: { secretRef: { name: "none" } } })).toEqual(
    message('secret "default/none" not found'),
  );
  expect(await push({ gitRepo: join(root, "none.git") })).toEqual(message("allowed directory"));
});

test("a password is on no command line and in no message", async () => {
  const log = join(root, "words");
  const bin = join(root, "bin");
  mkdirSync(bin);
  const program = `#!/bin/sh\necho "$@" >> ${log}\n[ "$SLIPWAY_GIT_TOKEN" = hunter2 ] && echo token given >> ${log}\necho "fatal: Authentication failed for hunter2" >&2\nexit 128\n`;
  writeFileSync(join(bin, "git"), program, { mode: 0o755 });
  const scope = await scopeOf("nginx");
  const data = { username: Buffer.from("me").toString("base64"), password: Buffer.from("hunter2").toString("base64") };
  await scope.client.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", namespace: "default" },
    data,
  } as never);
  const environment = { ...settings, PATH: `${bin}:${settings.PATH}` };
  const properties = {
    gitRepo: "https://example.org/a.git",
    branch: "main",
    credentials: { secretRef: { name: "s" } },
  };
  const answer = await pushObjects(parts({ environment }))(properties, scope);
  expect(JSON.stringify(answer)).not.toContain("hunter2");
  const words = execFileSync("cat", [log], { encoding: "utf8" });
  expect(words).toContain("token given");
  expect(words).not.toContain("hunter2");
});
