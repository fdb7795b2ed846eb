import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "#app/cli/commands/index.ts";
import { bareRepository, gitOverHttp, type GitServer } from "../support/git-servers.ts";
import { freePort } from "../support/free-port.ts";
import { workerTokenOf } from "../../src/dialects/wharf/provisioner/worker-token.ts";
import { wharfTokenFile } from "../support/wharf-access.ts";
import {
  exec,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "../support/slipway.ts";

// The provisioner of `slipway up` with real workers: the command line that people type, a repository behind a token, and a server that is killed.

const token = "t0ken-of-the-project";
const definition = `inputs:
  - {name: who, type: string, default: nobody}
  - {name: pw, type: password, default: none}
build:
  hello:
    container: {image: alpine, cmds: ["echo hello \${who} \${pw} of \${REPO_NAME}"]}
wait:
  long:
    container: {image: alpine, cmds: ["test ! -e hold || sleep 600"]}
`;
let root: string;
let git: GitServer;
let server: TestServer;
let url: string;

beforeAll(async () => {
  root = await realpath(await temporaryDirectory());
  Object.assign(env, { XDG_RUNTIME_DIR: root, TMPDIR: root });
  bareRepository(root, "quick.git", { ".wharf-ci.yml": definition });
  bareRepository(root, "long.git", { ".wharf-ci.yml": definition, hold: "" });
  git = await gitOverHttp(root, { token });
  await writeFile(`${root}/token`, `${token}\n`);
  await writeFile(`${root}/vars`, '{"who": "me", "pw": "inpu7-value"}');
  const address = `127.0.0.1:${await freePort()}`;
  url = `http://${address}`;
  server = await start(address);
});

/** An example of the help, about the repository and the server of this test. */
const example = (verb: string, build: number, repository: string): readonly string[] =>
  [...commands.filter((spec) => spec.name === `wharf provisioner ${verb}`).flatMap(({ examples }) => examples), ""][0]
    ?.replace("https://example.org/group/name.git", `http://127.0.0.1:${git.port}/${repository}.git`)
    .replace(/=7$|-7$/, (end) => end.replace("7", `${build}`))
    .split(" ")
    .slice(1) ?? [];
afterAll(async () => {
  await server?.stop();
  await git?.close();
  await removeDirectory(root);
});

const start = (address: string) =>
  startServer(`${root}/data`, [], {
    HOME: root,
    XDG_RUNTIME_DIR: root,
    SLIPWAY_WHARF_PROVISIONER_LISTEN: address,
    GIT_CONFIG_NOSYSTEM: "1",
  });
/** Servers of other tests are this user's, too. */
const env = { XDG_RUNTIME_DIR: "", TMPDIR: "" };
const workers = () => `${root}/data/wharf/workers`;
const name = (build: number) => `wharf-cmd-worker-local-${build}`;

const create = (repository: string, build: number) =>
  slipway(
    `wharf provisioner create --url ${url} GIT_FULLURL=http://127.0.0.1:${git.port}/${repository}.git BUILD_REF=${build} REPO_NAME=r GIT_TOKEN=@${root}/token VARS=@${root}/vars`.split(
      " ",
    ),
    { env },
  );

interface Told {
  readonly workerId: string;
  readonly status: string;
  readonly address: string;
  readonly message: string;
}

async function worker(build: number): Promise<Told | undefined> {
  const { out, err, code } = await slipway(["wharf", "provisioner", "list", "--url", url, "-o", "json"], { env });
  expect(code, err).toBe(0);
  return (JSON.parse(out) as Told[]).find(({ workerId }) => workerId === name(build));
}

/** The log of a step as a worker serves it, to who has the worker's own token and to nobody else. */
async function logOf(build: number, step: number): Promise<string> {
  const address = `http://${(await worker(build))?.address}/api/build/step/${step}/log`;
  expect((await fetch(address)).status).toBe(401);
  const place = (await readdir(workers())).find((entry) => entry.startsWith(`${name(build)}.`)) ?? "";
  const stored = `${root}/data/kubeconfig`;
  const uid = await exec("kubectl", [
    "--kubeconfig",
    stored,
    "get",
    "worker",
    name(build),
    "-o",
    "jsonpath={.metadata.uid}",
  ]);
  expect(uid.out.endsWith(place.split(".")[1] ?? "none"), uid.err).toBe(true);
  const own = await readFile(wharfTokenFile(`${root}/data`), "utf8");
  const headers = { authorization: `Bearer ${workerTokenOf(own.trim(), uid.out)}` };
  return await (await fetch(address, { headers })).text();
}

/** Words of processes of ours. */
const commandLines = (): string =>
  readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return ""; // It has ended meanwhile.
      }
    })
    .filter((line) => line.includes(root))
    .join("\n");

/** Everything that was written below a directory. */
async function everythingIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((file) => readFile(`${file.parentPath}/${file.name}`, "latin1")))).join("\n");
}

test("a build runs, its results are served, and nothing secret was written or said", async () => {
  expect(await create("quick", 1)).toMatchObject({ code: 0, out: expect.stringContaining(name(1)) });
  await expect.poll(() => worker(1)).toMatchObject({ status: "Success", message: "" });
  expect(await logOf(1, 1)).toBe("hello me *** of r\n");
  expect(await create("quick", 1)).toMatchObject({ code: 0 });
  expect(commandLines()).toContain("wharf launch");
  expect(commandLines()).not.toMatch(/t0ken-of-the-project|inpu7-value/);
  expect(await everythingIn(`${root}/data/wharf`)).not.toContain(token);
  expect(server.log()).not.toMatch(/t0ken-of-the-project|inpu7-value/);
});

test("a worker outlives a server that is killed, and ends when it is cancelled", async () => {
  expect(await create("long", 2)).toMatchObject({ code: 0 });
  await expect.poll(() => worker(2)).toMatchObject({ status: "Running", message: "" });
  const before = await worker(2);
  await server.kill();
  server = await start(new URL(url).host);
  await expect.poll(() => worker(2)).toEqual(before);
  expect((await slipway(["wharf", "provisioner", "delete", "--url", url, name(2)], { env })).code).toBe(0);
  await expect.poll(() => worker(2)).toMatchObject({ status: "Cancelled" });
});

test("what cannot be is told by the name of the parameter, and a clone that fails by Git's words", async () => {
  const words = ["--url", url, "GIT_FULLURL=--upload-pack=x", "BUILD_REF=a"];
  const bad = await slipway(["wharf", "provisioner", "create", ...words], { env });
  expect(bad.code).toBe(1);
  expect(bad.err).toMatch(/GIT_FULLURL: .*BUILD_REF: /);
  await writeFile(`${root}/token`, "wr0ng");
  expect(await create("quick", 3)).toMatchObject({ code: 0 });
  await expect.poll(() => worker(3)).toMatchObject({ status: "Failed" });
  expect(await logOf(3, 0)).toContain("Authentication failed");
  expect((await slipway(["wharf", "provisioner", "list", "--url", "http://127.0.0.1:1"])).err).toContain(
    "does not answer",
  );
});

test("examples of the help mean the server of this user where they name none", async () => {
  const created = await slipway([...example("create", 4, "long"), `GIT_TOKEN=@${root}/token`], { env });
  expect(created, created.err).toMatchObject({ code: 0, out: expect.stringContaining(name(4)) });
  expect((await slipway(example("list", 4, "long"), { env })).out).toContain(name(4));
  expect(await slipway(example("delete", 4, "long"), { env })).toMatchObject({ code: 0, out: `${name(4)}\n` });
});

test("workers that are deleted with force are gone, and nothing is left of them", async () => {
  const force = ["wharf", "provisioner", "delete", "--force", "--url", url];
  const done = await slipway([...force, ...[1, 2, 3, 4].map(name)], { env });
  expect(done).toMatchObject({ code: 0, out: [1, 2, 3, 4].map((build) => `${name(build)}\n`).join("") });
  await expect.poll(async () => await readdir(workers())).toEqual([]);
  // A program that was started for one of them, and came too late to become it, ends by itself.
  await expect.poll(commandLines).not.toContain("wharf launch");
});
