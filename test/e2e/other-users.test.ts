import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bareRepository, gitOverHttp, type GitServer } from "#test/support/git-servers.ts";
import { listenersOf } from "#test/support/listeners.ts";
import { OtherUser } from "#test/support/other-user.ts";
import {
  endRunner,
  exec,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { notedServers } from "#kernel/doors/index.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";

// What another user of the machine, without credentials, gets from a `slipway up` as people start it: health and version, and nothing else.

const patience = { timeout: 80_000 };
let root: string;
let data: string;
let env: Readonly<Record<string, string>>;
let other: OtherUser;
let server: TestServer;
let git: GitServer;

beforeAll(async () => {
  root = await temporaryDirectory();
  data = join(root, "data");
  env = { HOME: root, TMPDIR: root, XDG_RUNTIME_DIR: root };
  other = await OtherUser.open();
  git = await gitOverHttp(root, { token: "t0ken-of-the-project" });
  // Nothing is said of ports: they open when they are needed, at another port where a server of another test has the usual one.
  server = await startServer(data, [], { ...env, SLIPWAY_WHARF_LISTEN: "", SLIPWAY_WHARF_PROVISIONER_LISTEN: "" });
});
afterAll(async () => {
  await slipway(["wharf", "provisioner", "delete", "--force", "wharf-cmd-worker-local-1"], { env });
  await server?.stop();
  await endRunner(data);
  await git?.close();
  await other?.close();
  await removeDirectory(root);
});

async function kubectl(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(code, err).toBe(0);
  return out;
}

const wharf = (kind: string, name: string, spec: object) => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind,
  metadata: { name, namespace: "default" },
  spec,
});

/** Every TCP port of the server and of the programs that it has started. */
const ports = (): readonly number[] => [...new Set(listenersOf(server.process.pid ?? 0, data).map(({ port }) => port))];
const apiPort = () => Number(new URL(server.url).port);

/** Where this user's programs find a service. */
const served = async (what: string): Promise<string> =>
  (await notedServers([join(root, "slipway")])).find(({ serves }) => serves === what)?.url ?? "";

test("a server listens on the port of its API until an object needs another one", async () => {
  expect(ports()).toEqual([apiPort()]);
  const listed = await slipway(["wharf", "provisioner", "list"], { env });
  expect(listed).toMatchObject({ code: 2 });
  expect(listed.err).toContain(
    "slipway up serves it when there is a Project or Build, or with --wharf-provisioner-listen",
  );
  const step = { container: { image: "none", cmds: ["echo hello", "sleep 600"] } };
  bareRepository(root, "web.git", { ".wharf-ci.yml": JSON.stringify({ build: { web: step } }) });
  const token = Buffer.from("t0ken-of-the-project").toString("base64");
  const items = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "git", namespace: "default" }, data: { token } },
    wharf("Project", "web", {
      name: "web",
      gitUrl: `http://127.0.0.1:${git.port}/web.git`,
      tokenSecretRef: { name: "git", key: "token" },
    }),
    wharf("Build", "first", { project: "web", ref: "main" }),
  ];
  await writeFile(join(root, "objects.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", join(root, "objects.json"));
  // This user's own commands find the provisioner and its token by themselves, and the build's worker runs.
  await expect
    .poll(async () => (await slipway(["wharf", "provisioner", "list"], { env })).out, patience)
    .toMatch(/wharf-cmd-worker-local-1\s+1\s+Running/);
  const log = async () =>
    await (await fetch(`${await served("wharf-api")}/api/build/1/log`, { headers: wharfHeaders(data) })).text();
  await expect.poll(log, patience).toContain("hello");
});

test("another user runs no build through the provisioner", async () => {
  const evil = bareRepository(other.home, "evil.git", {
    ".wharf-ci.yml": "a: {b: {container: {image: x, cmds: [id]}}}\n",
  });
  expect(evil).not.toBe("");
  const given = ["GIT_BRANCH=main", "BUILD_REF=777", "REPO_NAME=x", "WHARF_PROJECT_ID=1"].flatMap((text) => [
    "-d",
    text,
  ]);
  const url = `${await served("provisioner")}/api/worker`;
  const asked = await other.ask(url, "--data-urlencode", `GIT_FULLURL=${other.home}/evil.git`, ...given);
  expect(asked.status).toBe(401);
  expect(await other.ask(`${url}?token=`)).toMatchObject({ status: 401 });
  expect(await kubectl("get", "workers", "-o", "name")).toBe("worker.wharf.slipway.dev/wharf-cmd-worker-local-1\n");
});

test("a project's token follows nobody to another address", async () => {
  const evil = "http://127.0.0.1:9/web.git";
  const body = JSON.stringify({ name: "web", gitUrl: evil });
  const url = `${await served("wharf-api")}/api/project/1`;
  expect((await other.ask(url, "--request", "PUT", "--json", body)).status).toBe(401);
  expect(await kubectl("get", "project", "web", "-o", "jsonpath={.spec.gitUrl}")).toContain(`:${git.port}/`);
  // Neither for who may change the project: with kubectl the change is refused, over REST the token is left behind.
  const patch = JSON.stringify({ spec: { overrides: { gitUrl: evil } } });
  const patched = await exec("kubectl", [
    "--kubeconfig",
    server.kubeconfig,
    "patch",
    "project",
    "web",
    "--type",
    "merge",
    "-p",
    patch,
  ]);
  expect(patched.code).toBe(1);
  expect(patched.err).toContain(`the project's token is for http://127.0.0.1:${git.port}`);
  const headers = { ...wharfHeaders(data), "content-type": "application/json" };
  expect((await fetch(url, { method: "PUT", headers, body })).status).toBe(200);
  const spec = JSON.parse(await kubectl("get", "project", "web", "-o", "jsonpath={.spec}")) as object;
  expect(spec).toMatchObject({ gitUrl: evil });
  expect(spec).not.toHaveProperty("tokenSecretRef");
});

/** Paths that may be answered to everybody. */
const open = ["/api/health", "/api/ping", "/api/version", "/healthz", "/livez", "/readyz", "/version"];
const closed = [
  "/",
  "/api",
  "/api/build",
  "/api/build/1/log",
  "/api/build/step/1/log",
  "/api/engine",
  "/api/project",
  "/api/project/1",
  "/api/token",
  "/api/v1/secrets",
  "/api/worker",
  "/apis",
  "/metrics",
  "/openapi/v2",
];
const calls = [
  "/grpc.health.v1.Health/Check",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/wharf.api.v5.Builds/CreateLogStream",
  "/wharf.worker.v1.Worker/StreamLogs",
];

test("of every port another user gets health and version, and nothing else", async () => {
  const all = ports();
  // The API, wharf-api, the provisioner, and the worker of the build.
  expect(all.length).toBeGreaterThanOrEqual(4);
  for (const port of all) {
    const base = `${port === apiPort() ? "https" : "http"}://127.0.0.1:${port}`;
    const answers = await Promise.all(closed.map(async (path) => [path, (await other.ask(`${base}${path}`)).status]));
    expect(answers, `port ${port}`).toEqual(closed.map((path) => [path, expect.toBeOneOf([401, 403])]));
    for (const path of open) expect((await other.ask(`${base}${path}`)).status, path).toBeOneOf([200, 401, 404]);
    const grpc = ["--http2-prior-knowledge", "--request", "POST", "-H", "content-type: application/grpc"];
    for (const path of calls) {
      const { status, text } = await other.ask(`${base}${path}`, ...grpc);
      const isRefused = status === 401 || status === 403 || /^grpc-status: 16\r?$/m.test(text);
      expect(isRefused, `${path} of port ${port}: ${text}`).toBe(true);
    }
  }
});

test("a build that starts is in the audit log with its caller", async () => {
  const lines = await exec("cat", [join(data, "audit/audit.jsonl")]);
  const started = lines.out.split("\n").filter((line) => line.includes('"build-started"'));
  expect(started.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ user: "slipway:admin", via: "API server", build: "default/first", project: "web" }),
  ]);
});
