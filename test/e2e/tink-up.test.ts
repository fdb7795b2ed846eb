import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codeOf } from "#lib/base/index.ts";
import {
  endRunner,
  exec,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Where `slipway up` serves agents, and what becomes of it when it cannot.

let directory: string;
let server: TestServer | undefined;
let holder: Server | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  await server?.stop();
  if (server !== undefined) await endRunner(server.directory);
  server = undefined;
  holder?.close();
  holder = undefined;
  await removeDirectory(directory);
});

const data = () => join(directory, "data");

/** Somebody else's. Undefined where somebody else has it already. */
async function hold(port: number): Promise<number | undefined> {
  holder = createServer().listen(port, "127.0.0.1");
  try {
    await once(holder, "listening");
  } catch (thrown) {
    if (codeOf(thrown) === "EADDRINUSE") return undefined;
    throw thrown;
  }
  const address = holder.address();
  return typeof address === "object" ? address?.port : undefined;
}

/** An object that needs agents. */
async function applyTemplate({ kubeconfig }: TestServer): Promise<void> {
  const template = {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Template",
    metadata: { name: "t" },
    spec: { data: "" },
  };
  const applied = await exec("kubectl", ["--kubeconfig", kubeconfig, "apply", "-f", "-"], {
    input: JSON.stringify(template),
  });
  expect(applied.code, applied.err).toBe(0);
}

const conditionOf = async (): Promise<unknown> => {
  const path = '{.items[0].status.conditions[?(@.type=="InsecureAgents")].status}';
  const words = ["--kubeconfig", server?.kubeconfig ?? "", "get", "nodes", "-o", `jsonpath=${path}`];
  return (await exec("kubectl", words)).out;
};

test("where something else has the usual address of agents another port is taken, and the server says so", async () => {
  const start = async () => {
    const started = await startServer(data(), [], { SLIPWAY_TINK_LISTEN: "" });
    await applyTemplate(started);
    await expect.poll(() => started.log()).toContain("agents of Tinkerbell: port opened");
    return started;
  };
  const opened = () =>
    server
      ?.log()
      .split("\n")
      .find((line) => line.includes("port opened")) ?? "";
  let isOurs = (await hold(42_113)) !== undefined;
  server = await start();
  // The system gives it away like any other: who had it may have let it go in between.
  while (!isOurs && opened().includes("127.0.0.1:42113")) {
    await server.stop();
    isOurs = (await hold(42_113)) !== undefined;
    server = await start();
  }
  await expect.poll(() => server?.log()).toContain("the usual address of agents of Tinkerbell is in use");
  expect(opened()).toMatch(/127\.0\.0\.1:(?!42113\b)\d+/);
});

test("an address that somebody has named and that is taken ends the start, before anything else is done", async () => {
  const port = await hold(0);
  const { code, err } = await slipway([
    "up",
    "--data-dir",
    data(),
    "--port",
    "0",
    "--tink-listen",
    `127.0.0.1:${port}`,
  ]);
  expect(code).toBe(1);
  expect(err).toContain(`cannot listen on 127.0.0.1:${port}: the port is in use\n`);
  expect(err).toContain("--tink-listen off to disable the port");
});

test("certificates that cannot be used end the start", async () => {
  await writeFile(join(directory, "crt"), "no certificate");
  const tls = [
    "--tink-listen",
    "127.0.0.1:0",
    "--tink-tls-cert",
    join(directory, "crt"),
    "--tink-tls-key",
    "/nowhere/key",
  ];
  const { code, err } = await slipway(["up", "--data-dir", data(), "--port", "0", ...tls]);
  expect(code).toBe(1);
  expect(err).toContain("/nowhere/key");
});

test("everything that is wrong with options is told, before anything is begun", async () => {
  const { code, err } = await slipway(["up", "--data-dir", data(), "--tink-auth", "x", "--tink-poll-hold", "7"]);
  expect(code).toBe(2);
  expect(err).toContain("--tink-auth: expected token or mtls");
  expect(err).toContain("--tink-poll-hold: expected a duration");
});

test("a server that lets in agents without credentials warns in its log and on its node", async () => {
  server = await startServer(data(), ["--tink-listen", "0.0.0.0:0", "--tink-anonymous-auth"]);
  expect(server.printed()).toMatch(/for agents of Tinkerbell at 0\.0\.0\.0:\d+\n/);
  await expect.poll(() => server?.log()).toContain("clients without credentials are let in");
  await expect.poll(conditionOf, { timeout: 30_000 }).toBe("True");
  await server.stop();
  server = await startServer(data(), ["--tink-listen", "0.0.0.0:0"]);
  await expect.poll(conditionOf, { timeout: 30_000 }).toBe("False");
});
