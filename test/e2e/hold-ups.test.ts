import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startEngine, testImage, type TestEngine } from "#test/support/docker-engine.ts";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const step = (container: object) => ({ container: { image: testImage, command: ["true"], ...container } });
const lacking = { env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "nowhere", key: "x" } } }] };

async function file(name: string, steps: Record<string, object>): Promise<string> {
  const path = join(directory, `${name}.json`);
  const kind = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" };
  await writeFile(path, JSON.stringify({ ...kind, metadata: { name }, spec: { steps } }));
  return path;
}

/** Runs until everything that is waited for has been told, then interrupts. Resolves with what was told, and how it ended. */
async function runUntil(args: readonly string[], env: Readonly<Record<string, string>>, ...wanted: readonly RegExp[]) {
  const child = spawn(process.execPath, [slipwayBin, "run", ...args], {
    cwd: root,
    env: cleanEnvironment({ HOME: directory, ...env }),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  let isAsked = false;
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
    if (!isAsked && wanted.every((pattern) => pattern.test(err))) isAsked = child.kill("SIGINT");
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const code = await within(100_000, `slipway run tells ${wanted.join(", ")} and ends`, ended, () => err);
  return { code, err };
}

test("a run that lacks what nobody can bring says what, and that it cannot go on", async () => {
  const path = await file("stuck", {
    good: step({}),
    bad: step(lacking),
    later: { ...step({}), dependencies: ["bad"] },
  });
  const { code, err } = await runUntil([path, "--ephemeral"], {}, /cannot go on.*\n.*\n.*Ctrl-C/);
  expect(code, err).toBe(130);
  expect(err).toContain('bad: held up (CreateContainerConfigError: configmap "nowhere" not found)');
  expect(err).toContain('this run cannot go on: bad (configmap "nowhere" not found)');
});

test("on a control plane that others reach it is told what is missing, and the run goes on when that comes", async () => {
  const server = await startServer(join(directory, "data"));
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const running = runUntil([await file("lacks", { bad: step(lacking) })], env, /never told/);
  for (;;) {
    const { out } = await slipway(["describe", "lacks"], { env });
    if (/^bad .*CreateContainerConfigError: configmap "nowhere" not found$/m.test(out)) break;
  }
  // Everything of a run's documents that is no run is there before it, and stays.
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "nowhere" }, data: { x: "1" } };
  const brings = `${JSON.stringify(map)}\n---\n${await readFile(await file("brings", { a: step({}) }), "utf8")}`;
  await writeFile(join(directory, "brings.yaml"), brings);
  expect((await slipway(["run", join(directory, "brings.yaml")], { env })).code).toBe(0);
  const { code, err } = await running;
  expect(code, err).toBe(0);
  expect(err).not.toContain("cannot go on");
  await server.stop();
  await endRunner(server.directory);
});

describe("in containers", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());

  test("an image that cannot be had, a crash loop and a missing Secret are told of while the run goes on", async () => {
    const secret = { env: [{ name: "X", valueFrom: { secretKeyRef: { name: "nowhere", key: "x" } } }] };
    const crash = {
      jobTemplate: {
        spec: {
          template: {
            spec: {
              restartPolicy: "OnFailure",
              containers: [{ name: "main", image: testImage, command: ["sh", "-c", "exit 3"] }],
            },
          },
        },
      },
    };
    // Nobody listens on port 1 of this machine.
    const image = step({ image: "127.0.0.1:1/nowhere:1" });
    const path = await file("contained", { crash, image, secret: step(secret) });
    const { code, err } = await runUntil(
      [path, "--runtime", "docker"],
      { DOCKER_HOST: engine.host },
      /crash: held up/,
      /image: held up/,
      /secret: held up/,
    );
    expect(code, err).toBe(130);
    expect(err).toMatch(/crash: held up \(CrashLoopBackOff: .*exit code 3\)/);
    expect(err).toMatch(/image: held up \((?:ErrImagePull|ImagePullBackOff): .*127\.0\.0\.1:1/);
    expect(err).toContain('secret: held up (CreateContainerConfigError: secret "nowhere" not found)');
    expect(err).not.toContain("cannot go on");
  });
});
