import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestEngine } from "#dialects/wharf/testing/plane.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// wharf-api in a real server, asked by curl and kubectl. The engine is a server of this test: what workers do is others' to prove.

const patience = { timeout: 60_000 };
let directory: string;
let engine: TestEngine;
let server: TestServer;
beforeEach(async () => {
  directory = await temporaryDirectory();
  engine = await TestEngine.open();
  server = await start();
});
afterEach(async () => {
  await server.stop();
  await endRunner(server.directory);
  await engine.close();
  await removeDirectory(directory);
});

const start = (more: readonly string[] = []): Promise<TestServer> =>
  startServer(join(directory, "server"), [
    "--wharf-listen",
    "127.0.0.1:0",
    "--wharf-engine-url",
    engine.engine.url,
    ...more,
  ]);

const address = (): string => /wharf-api at (\S+)/.exec(server.printed())?.[1] ?? "";

/** As people do: the body as curl prints it, and nothing where it fails. */
async function curl(path: string, ...words: readonly string[]): Promise<string> {
  const { authorization } = wharfHeaders(server.directory);
  const bearer = ["-H", `Authorization: ${authorization}`];
  const url = `http://${address()}${path}`;
  const { code, out, err } = await exec("curl", ["--silent", "--show-error", url, ...bearer, ...words]);
  expect(code, err).toBe(0);
  return out;
}
const post = (path: string, body: object) => curl(path, "--json", JSON.stringify(body));

const kubectl = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(code, err).toBe(0);
  return out;
};
async function apply(...items: readonly object[]): Promise<void> {
  await writeFile(join(directory, "objects.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", join(directory, "objects.json"));
}
const wharf = (kind: string, name: string, spec: object) => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const project = wharf("Project", "web", { name: "web", gitUrl: "https://git.example/web.git" });

test("a build is started with curl and seen with kubectl; its state goes on over REST", async () => {
  await post("/api/project", { name: "web", groupName: "tools", gitUrl: "https://git.example/web.git" });
  await post("/api/project/1/branch", { name: "main", default: true });
  expect(await post("/api/project/1/build?environment=prod", {})).toBe('{\n  "buildRef": "1"\n}\n');
  const table = await kubectl("get", "builds");
  expect(table).toMatch(/^NAME +ID +PROJECT +STAGE +ENV +STATUS +WORKER +AGE\n/);
  expect(table).toMatch(/^build-1 +1 +project-1 +ALL +prod +Scheduling +wharf-cmd-worker-local-1 +\S+$/m);
  const tell = (status: string) => curl("/api/build/1/status", "-X", "PUT", "--json", JSON.stringify({ status }));
  await tell("Running");
  await tell("Completed");
  await kubectl("wait", "--for=condition=Complete", "build/build-1", "--timeout=30s");
  expect(JSON.parse(await curl("/api/build?status=Completed"))).toMatchObject({
    list: [{ buildId: 1, projectId: 1, status: "Completed" }],
    totalCount: 1,
  });
  const { out } = await slipway(["describe", "build/build-1"], { env: { SLIPWAY_KUBECONFIG: server.kubeconfig } });
  expect(out).toMatch(/^Status: +Completed$/m);
});

test("builds of kubectl get numbers and workers, are canceled as any run, and go with their workers", async () => {
  await apply(project, wharf("Build", "nightly", { project: "web", ref: "main" }));
  const jsonpath = async (path: string) => await kubectl("get", "build", "nightly", "-o", `jsonpath={${path}}`);
  await expect.poll(() => jsonpath(".status.workerId"), patience).toBe("wharf-cmd-worker-local-1");
  expect(await jsonpath(".spec.buildId")).toBe("1");
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const { code, err } = await slipway(["cancel", "build/nightly"], { env });
  expect(code, err).toBe(0);
  await kubectl("wait", "--for=condition=Failed", "build/nightly", "--timeout=30s");
  expect(await jsonpath(".status.reason")).toBe("Canceled");
  expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", path: "/api/worker/wharf-cmd-worker-local-1" });
  await kubectl("delete", "build", "nightly", "--timeout=60s");
  const { body } = { body: JSON.parse(await curl("/api/build/1")) as { readonly status: number } };
  expect(body).toMatchObject({ type: "/prob/api/record-not-found", status: 404 });
});

test("a build is a step of a Workflow: inputs go in, outputs come out, and a cancel ends it", async () => {
  const definition = "inputs: [{name: version, type: string}]\nbuild: {web: {container: {image: a, cmds: [b]}}}\n";
  const step = {
    template: {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Build",
      spec: { project: "web", ref: "main", inputs: { version: "${{ params.version }}" } },
    },
    outputs: { image: { expression: "object.status.outputs.image" } },
  };
  const workflow = (name: string) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name, namespace: "default" },
    spec: {
      params: [{ name: "version", default: "2.1" }],
      steps: { build: step },
      outputs: { image: "steps.build.outputs.image" },
    },
  });
  await apply({ ...project, spec: { ...project.spec, buildDefinition: definition } }, workflow("release"));
  await expect.poll(() => engine.asked.length, patience).toBe(1);
  expect(engine.asked[0]?.parameters).toMatchObject({ BUILD_REF: "1", VARS: 'version: "2.1"\n' });
  const told = { status: "Completed", outputs: { image: "registry.example/web:2.1" } };
  await curl("/api/build/1/status", "-X", "PUT", "--json", JSON.stringify(told));
  await kubectl("wait", "--for=condition=Complete", "workflows.slipway.dev/release", "--timeout=60s");
  const outputs = await kubectl("get", "workflows.slipway.dev", "release", "-o", "jsonpath={.status.outputs.image}");
  expect(outputs).toBe("registry.example/web:2.1");
  await apply(workflow("given-up"));
  await expect.poll(() => engine.asked.length, patience).toBe(2);
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  expect(await slipway(["cancel", "workflows.slipway.dev/given-up"], { env })).toMatchObject({ code: 0 });
  await expect.poll(() => engine.asked.at(-1), patience).toMatchObject({ method: "DELETE" });
  await expect.poll(() => kubectl("get", "builds", "-o", "jsonpath={.items[*].spec.buildId}"), patience).toBe("1");
});

test("a server that is killed goes on: builds that wait for a worker get it", async () => {
  engine.refusal = { status: 503, body: "no room" };
  await apply(project, wharf("Build", "waits", { project: "web", ref: "main" }));
  await expect.poll(() => engine.asked.length, patience).toBeGreaterThan(0);
  await server.kill();
  engine.refusal = undefined;
  server = await start();
  const worker = () => kubectl("get", "build", "waits", "-o", "jsonpath={.status.workerId}");
  await expect.poll(worker, patience).toBe("wharf-cmd-worker-local-1");
});

test("a build of a repository is cloned, run, collected and seen, with all of its lines and what it hands on", async () => {
  await server.stop();
  const listen = ["--wharf-listen", "127.0.0.1:0", "--wharf-provisioner-listen", "127.0.0.1:0"];
  server = await startServer(join(directory, "whole"), listen);
  const repository = join(directory, "repository");
  await mkdir(repository);
  const cmds = ["echo hello ${version}", "echo image=web:${version} > $WHARF_ARTIFACTS_DIR/outputs.env"];
  const inputs = [{ name: "version", type: "string", default: "1" }];
  const definition = JSON.stringify({ inputs, build: { web: { container: { image: "none", cmds } } } });
  await writeFile(join(repository, ".wharf-ci.yml"), definition);
  const commit = "git init -q -b main && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm first";
  expect(await exec("bash", ["-c", commit], { cwd: repository })).toMatchObject({ code: 0 });
  await post("/api/project", { name: "web", gitUrl: repository, buildDefinition: definition });
  expect(await post("/api/project/1/build?branch=main", { version: "7" })).toContain('"buildRef": "1"');
  await kubectl("wait", "--for=condition=Complete", "build/build-1", "--timeout=90s");
  expect(JSON.parse(await curl("/api/build/1/log"))).toMatchObject([{ message: "hello 7", workerStepId: 1 }]);
  const status = await kubectl("get", "build", "build-1", "-o", "jsonpath={.status}");
  expect(JSON.parse(status)).toMatchObject({
    status: "Completed",
    outputs: { image: "web:7" },
    logs: { lines: 1 },
    steps: [{ name: "web", status: "Success", exitCode: 0 }],
  });
});

test("it is a process of its own, for a server that controls builds itself", async () => {
  const words = ["wharf", "api", "serve", "--kubeconfig", server.kubeconfig, "--data-dir", join(directory, "api")];
  const listen = ["--wharf-listen", "127.0.0.1:0", "--wharf-engine-url", engine.engine.url];
  const child = spawn(slipwayBin, [...words, ...listen], { env: cleanEnvironment({ HOME: directory }), stdio: "pipe" });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const ended = once(child, "exit");
  try {
    await expect.poll(() => printed, patience).toMatch(/^wharf-api: 127\.0\.0\.1:\d+$/m);
    const [, other = ""] = /^wharf-api: (\S+)$/m.exec(printed) ?? [];
    const credential = () => wharfHeaders(join(directory, "api"));
    const ask = async (path: string, body?: object): Promise<unknown> => {
      const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      return await (await fetch(`http://${other}${path}`, { ...request, headers: credential() })).json();
    };
    await ask("/api/project", { name: "web", gitUrl: "https://git.example/web.git" });
    expect(await ask("/api/project/1/build?branch=main", {})).toEqual({ buildRef: "1" });
    await expect.poll(() => kubectl("get", "builds"), patience).toMatch(/^build-1 +1 +project-1 .*worker-local-1/m);
    // Both see the same builds.
    expect(JSON.parse(await curl("/api/build/1"))).toMatchObject({ buildId: 1, status: "Scheduling" });
    await ask("/api/build/1/cancel", {});
    await expect.poll(() => ask("/api/build/1"), patience).toMatchObject({ status: "Failed", reason: "Canceled" });
    // What it has of a build goes with it, although another process has controlled the build.
    const line = JSON.stringify({ workerStepId: 1, workerLogId: 1, timestamp: "2026-01-31T12:00:00Z", message: "x" });
    await fetch(`http://${other}/api/build/1/logs`, { method: "PUT", body: line, headers: credential() });
    const logs = async () => (await readdir(join(directory, "api/wharf/logs"))).filter((name) => name === "1");
    expect(await logs()).toEqual(["1"]);
    await kubectl("delete", "build", "build-1", "--timeout=60s");
    await expect.poll(logs, patience).toEqual([]);
  } finally {
    child.kill("SIGTERM");
  }
  expect(await ended).toEqual([0, null]);
});

test("a token that was named is required, and the server's own is not taken then", async () => {
  await server.stop();
  await writeFile(join(directory, "token"), "s3cret\n");
  server = await start(["--wharf-auth-token-file", join(directory, "token")]);
  const ask = async (token: string): Promise<unknown> =>
    await (await fetch(`http://${address()}/api/engine`, { headers: { authorization: `Bearer ${token}` } })).json();
  const refused = { status: 401, type: "/prob/api/unauthorized" };
  expect(await (await fetch(`http://${address()}/api/engine`)).json()).toMatchObject(refused);
  expect(JSON.parse(await curl("/api/engine"))).toMatchObject(refused);
  expect(await ask("s3cret")).toMatchObject({ defaultEngine: { id: "wharf-cmd" } });
});
