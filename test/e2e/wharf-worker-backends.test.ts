import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { HostBackend } from "../../src/dialects/wharf/provisioner/host/host-backend.ts";
import { directoryName, ownerOf } from "../../src/dialects/wharf/provisioner/host/worker-directory.ts";
import { readParameters } from "../../src/dialects/wharf/provisioner/parameters.ts";
import { readResults } from "../../src/dialects/wharf/results/read-results.ts";
import { serveResults } from "../../src/dialects/wharf/worker-api/serve-results.ts";
import { tcpConnect } from "../../src/dialects/wharf/worker-api/tcp-connect.ts";
import { bareRepository, gitOverHttp, type GitServer, plainGit } from "../support/git-servers.ts";
import { removeDirectory, slipwayBin, temporaryDirectory } from "../support/slipway.ts";
import { backendContract, cloneToken, tokenOf } from "./worker-backends.contract.ts";

// Workers as processes of this machine, by the built product. Containers are with the other tests of an engine.

let root: string;
let git: GitServer;
let count = 0;
beforeAll(async () => {
  root = await temporaryDirectory();
  git = await gitOverHttp(root, { token: cloneToken });
});
afterAll(async () => {
  await git?.close();
  await removeDirectory(root);
});

const patience = { timeout: 80_000 };
const directory = () => `${root}/workers`;

const openBackend = (more: Readonly<Record<string, string>> = {}) =>
  new HostBackend({
    directory: directory(),
    program: { words: [process.execPath, slipwayBin], environment: { ...plainGit(root), ...more } },
    runtime: "host",
    serve: async (results, token) => {
      const options = { address: "127.0.0.1:0", token, clock: systemClock, log: silentLog };
      return await serveResults(await readResults(results, systemClock), options);
    },
    tokenOf,
    changed: () => undefined,
    clock: systemClock,
    log: silentLog,
  });

/** A Git that stops at the first command with this word, and says so by a file of its own. */
async function gitThatStops(word: string): Promise<{ readonly PATH: string; readonly stopped: string }> {
  const place = join(root, `git-${word}`);
  const [real, stopped] = [execFileSync("which", ["git"], { encoding: "utf8" }).trim(), join(place, "stopped")];
  await mkdir(place);
  const script = `#!/bin/sh\ncase " $* " in *" ${word} "*) touch ${stopped}; exec sleep 600;; esac\nexec ${real} "$@"\n`;
  await writeFile(join(place, "git"), script, { mode: 0o755 });
  return { PATH: `${place}:${process.env["PATH"] ?? ""}`, stopped };
}

test.each([
  ["the repository is cloned", "clone", "cancelled while the repository was cloned"],
  ["the definition is read", "symbolic-ref", "cancelled before the build"],
  ["the project is looked at", "ls-files", "the build was cancelled"],
])("a worker that is cancelled while %s was cancelled, and has not failed", async (_when, word, message) => {
  const { PATH, stopped } = await gitThatStops(word);
  const backend = openBackend({ PATH });
  const worker = { namespace: "default", name: `cancelled-at-${word}`, uid: "00000000-0000-4000-8000-000000000999" };
  const definition = 'a: {b: {container: {image: x, cmds: ["echo ${GIT_BRANCH}", sleep 600]}}}\n';
  const files = { ".wharf-ci.yml": definition };
  bareRepository(root, `${word}.git`, files);
  const given = { GIT_FULLURL: `http://127.0.0.1:${git.port}/${word}.git`, GIT_TOKEN: cloneToken, BUILD_REF: "9" };
  const request = readParameters(given, { instance: "local", allowLocalRepos: false });
  if (!request.ok) throw new Error(JSON.stringify(request.error));
  await backend.start(worker, request.value);
  await expect.poll(() => existsSync(stopped), patience).toBe(true);
  await backend.end(worker, "cancel");
  const expected = { phase: "finished", status: "Cancelled", message };
  await expect.poll(() => backend.observe(worker), patience).toMatchObject(expected);
  await backend.end(worker, "kill");
  await backend.remove(worker);
  await backend.close();
});

backendContract(() => ({
  open: async () => openBackend(),
  connect: tcpConnect,
  repository(files) {
    const name = `r${++count}.git`;
    if (files !== undefined) bareRepository(root, name, files);
    return `http://127.0.0.1:${git.port}/${name}`;
  },
  async kill(worker) {
    const owner = await ownerOf(`${directory()}/${directoryName(worker)}`);
    if (owner !== undefined) process.kill(owner.pid, "SIGKILL");
  },
  visible: async () => execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }),
  count: async () => (await readdir(directory()).catch(() => [])).length,
}));
