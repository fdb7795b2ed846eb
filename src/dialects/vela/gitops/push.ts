import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, err, type JsonObject, objectAt, ok, type Result, sleep, textAt } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { Git, GitRefusal, GitRemote } from "#kernel/git/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { ApplicationRevision } from "../kinds.ts";
import { failure } from "../ops/form.ts";
import { inputOf, returning } from "../ops/use-case-value.ts";
import type { ActionScope, Provider } from "../ops/provider.ts";
import type { UseCaseParts } from "../sources/parts.ts";
import { readRenderedResources } from "../revision/store.ts";
import { withGit } from "../sources/confined-git.ts";
import { openRemote } from "../sources/remote.ts";
import { isSecret } from "../labels.ts";
import { filesOf, indexFile, type Layout } from "./layout.ts";

interface PushRequest {
  readonly url: string;
  readonly branch: string;
  readonly folder: string;
  readonly layout: Layout;
  readonly prune: boolean;
  readonly sign: boolean;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly files: ReadonlyMap<string, string>;
}

interface Pushed {
  readonly commit: string;
  readonly changed: boolean;
}

const tries = 5;

/** `git/push`: the rendered objects as files of a repository. A push that changes nothing is no commit. */
export const pushObjects =
  (parts: UseCaseParts): Provider =>
  async (value, scope) => {
    const input = inputOf(value);
    const objects = await renderedObjects(input, scope);
    if (!objects.ok) return failure(objects.error);
    const request = readRequest(input, objects.value, scope);
    if (!request.ok) return failure(request.error);
    await makeDirectories(parts.directory);
    const directory = await mkdtemp(join(parts.directory, "push-"));
    try {
      const remote = await openRemote(request.value.url, objectAt(input, "credentials"), directory, scope, parts);
      if (!remote.ok) return failure(`gitRepo: ${remote.error}`);
      const pushed = await pushWithRetries(request.value, remote.value, directory, scope, parts);
      if (!pushed.ok) return failure(pushed.error);
      scope.say(
        pushed.value.changed ? `pushed ${pushed.value.commit.slice(0, 10)} to ${request.value.branch}` : "no change",
      );
      return returning({ ...pushed.value });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };

/** Everything that the revision consists of, as its ConfigMaps have it. */
async function renderedObjects(
  input: JsonObject,
  { app: { identity }, records, signal }: ActionScope,
): Promise<Result<readonly KubeObject[], string>> {
  const ref = { type: ApplicationRevision, namespace: identity.namespace, name: identity.revision };
  const revision = await getOrUndefined(records, ref, signal);
  if (revision === undefined) return err(`revision "${identity.revision}" not found`);
  const objects = [...(await readRenderedResources({ client: records, signal }, revision)).values()];
  return ok(input["secrets"] === "include" ? objects : objects.filter((object) => !isSecret(object)));
}

function readRequest(
  input: JsonObject,
  objects: readonly KubeObject[],
  { app }: ActionScope,
): Result<PushRequest, string> {
  const url = textAt(input, "gitRepo") ?? "";
  const branch = textAt(input, "branch") ?? "";
  if (url === "") return err("gitRepo: expected the address of a repository, found nothing");
  if (!/^(?!-)(?!.*(?:\.\.|@\{|\/\/|\.lock(?:\/|$)))[\w.\-/+#@=]+(?<![/.])$/.test(branch))
    return err(`branch: expected the name of a branch, found ${JSON.stringify(branch)}`);
  const folder = (textAt(input, "path") ?? ".").replace(/^\.\/|\/+$/g, "");
  if (folder.startsWith("/") || folder.split("/").some((part) => part === ".." || part === ".git"))
    return err(`path: expected a folder inside the repository, found ${JSON.stringify(folder)}`);
  const layout = input["layout"] === "single" ? "single" : "files";
  const { name, revision } = app.identity;
  return ok({
    url,
    branch,
    folder: folder === "" ? "." : folder,
    layout,
    prune: input["prune"] !== false,
    sign: input["sign"] === true,
    message: textAt(input, "message") ?? `Deploy ${revision === "" ? name : revision}`,
    author: {
      name: textAt(input, "author", "name") ?? textAt(input, "author") ?? "Slipway",
      email: textAt(input, "author", "email") ?? "slipway@localhost",
    },
    files: filesOf(objects, name, layout),
  });
}

/** Somebody else's push between ours and the fetch before it is fetched, and the files are written again. */
async function pushWithRetries(
  request: PushRequest,
  remote: GitRemote,
  directory: string,
  scope: ActionScope,
  parts: UseCaseParts,
): Promise<Result<Pushed, string>> {
  const work = join(directory, "work");
  await makeDirectories(work);
  return withGit(work, remote, scope, parts, async (git) => {
    const begun = await git("init", "--quiet");
    if (!begun.ok) return err(begun.error.message);
    for (let attempt = 1; ; attempt++) {
      const pushed = await pushOnce(request, remote, git, work);
      if (pushed.ok) return pushed;
      if (pushed.error.reason !== "Rejected" || attempt === tries) return err(`git push: ${pushed.error.message}`);
      await sleep(scope.clock, 100 * 2 ** attempt, scope.signal);
    }
  });
}

async function pushOnce(
  request: PushRequest,
  { source }: GitRemote,
  git: Git,
  work: string,
): Promise<Result<Pushed, GitRefusal>> {
  const { branch } = request;
  const fetched = await git("fetch", "--quiet", "--depth=1", "--no-tags", "--", source.url, `refs/heads/${branch}`);
  // A branch that does not exist begins here.
  if (!fetched.ok && fetched.error.reason !== "NotFound") return fetched;
  if (!fetched.ok && /repository|does not exist/i.test(fetched.error.message)) return fetched;
  const begun = fetched.ok
    ? await git("checkout", "--quiet", "--force", "-B", "slipway", "FETCH_HEAD")
    : await git("checkout", "--quiet", "--orphan", "slipway");
  if (!begun.ok) return begun;
  await writeFiles(request, work);
  const added = await git("add", "--all", "--force", "--", request.folder);
  if (!added.ok) return added;
  const status = await git("status", "--porcelain", "--untracked-files=no");
  if (!status.ok) return status;
  if (status.value.trim() === "") {
    const head = await git("rev-parse", "HEAD");
    return head.ok ? ok({ commit: head.value.trim(), changed: false }) : head;
  }
  return commit(request, source.url, git);
}

async function commit(request: PushRequest, url: string, git: Git): Promise<Result<Pushed, GitRefusal>> {
  const { author, message, sign, branch } = request;
  const who = ["-c", `user.name=${author.name}`, "-c", `user.email=${author.email}`, "-c", `commit.gpgSign=${sign}`];
  const made = await git(...who, "commit", "--quiet", "--no-verify", `--message=${message}`);
  if (!made.ok) return made;
  const head = await git("rev-parse", "HEAD");
  if (!head.ok) return head;
  const pushed = await git("push", "--quiet", "--no-verify", "--", url, `HEAD:refs/heads/${branch}`);
  return pushed.ok ? ok({ commit: head.value.trim(), changed: true }) : pushed;
}

const largestIndex = 2 ** 20;

/** Empty unless it is a file: a link could lead out of the repository. */
async function readIndex(path: string): Promise<string> {
  try {
    const found = await lstat(path);
    return found.isFile() && found.size <= largestIndex ? await readFile(path, "utf8") : "";
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return "";
    throw thrown;
  }
}

/** Removes only files that an earlier push wrote. Links of the repository are never followed. */
async function writeFiles({ files, folder, prune }: PushRequest, work: string): Promise<void> {
  const root = join(work, folder);
  await makeOwnDirectories(work, folder);
  const before = await readIndex(join(root, indexFile));
  const known = before.split("\n").filter((name) => /^[\w.-]+\.yaml$/.test(name));
  if (prune) for (const name of known) if (!files.has(name)) await rm(join(root, name), { force: true });
  const kept = prune ? [] : known;
  const index = [...new Set([...kept, ...files.keys()])].toSorted().join("\n");
  for (const [name, text] of [...files, [indexFile, `${index}\n`] as const]) {
    await rm(join(root, name), { recursive: true, force: true });
    await writeFile(join(root, name), text, { flag: "wx" });
  }
}

async function makeOwnDirectories(work: string, folder: string): Promise<void> {
  let path = work;
  for (const part of folder.split("/")) {
    path = join(path, part);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined) await mkdir(path);
    else if (!found.isDirectory()) throw new Error(`path: ${folder} is not a directory of the repository`);
  }
}
