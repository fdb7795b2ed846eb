import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHttpClient, loadKubeconfig, type ApiClient } from "#kernel/kit/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject, Lease } from "#kernel/model/index.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";
import { bundleProgram } from "../support/bundle-program.ts";

// 52. Controllers as processes: one leads; when it is killed another follows, and when it is asked to stop it ends its work first. How soon
// is a law of lease-election.test.ts, where the clock is ours; here it is printed.

interface Program {
  /** What it said, line by line. */
  readonly said: () => readonly string[];
  readonly signal: (name: NodeJS.Signals) => void;
  readonly ended: () => Promise<number | null>;
}

let directory: string;
let server: TestServer;
let bundle: string;
let client: ApiClient;
const programs: Program[] = [];
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(directory, ["--log-level", "warn"]);
  bundle = await bundleProgram(join(import.meta.dirname, "controller-program.ts"));
  const environment = { clock: systemClock, log: silentLog, random: Math.random };
  const connection = await loadKubeconfig({ files: [server.kubeconfig], environment: {}, ...environment });
  client = createHttpClient({ ...environment, connection });
});
afterAll(async () => {
  for (const { signal } of programs) signal("SIGKILL");
  await client.close();
  await server.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

function start(identity: string): Program {
  const child = spawn(process.execPath, [bundle, server.kubeconfig, identity], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  // Not its exit, before which not all that it has said need have come.
  const closed = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const program: Program = {
    said: () => text.split("\n").filter(Boolean),
    signal: (name) => void child.kill(name),
    ended: () => within(90_000, `${identity} ends`, closed, () => text),
  };
  programs.push(program);
  return program;
}

type Work = KubeObject & { readonly data?: Readonly<Record<string, string>> };
const refOf = (name: string) => ({ type: ConfigMap, namespace: "default", name });
const work = (name: string, data: Readonly<Record<string, string>> = {}) =>
  client.create<Work>(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", labels: { work: "1" } },
    data,
  });
const becomes = (name: string, data: object) =>
  expect.poll(async () => (await client.get<Work>(refOf(name))).data, { timeout: 90_000, interval: 100 }).toEqual(data);
const leader = async () => {
  const lease = await client.get<KubeObject & { readonly spec: { readonly holderIdentity?: string } }>({
    type: Lease,
    namespace: "default",
    name: "controller",
  });
  return lease.spec.holderIdentity;
};

test("a leader that is killed is followed by the other, which takes up its work; one that is asked to stop ends its own first", async () => {
  const first = start("first");
  await work("a");
  await becomes("a", { begun: "first" });
  const second = start("second");
  await expect.poll(second.said, { timeout: 60_000 }).toEqual(["started"]);

  const killedAt = systemClock.monotonic();
  first.signal("SIGKILL");
  await first.ended();
  await becomes("a", { begun: "second" });
  const taken = Math.round((systemClock.monotonic() - killedAt) / 100) / 10;
  process.stderr.write(`the follower of a killed leader was at work after ${taken} s\n`);

  const third = start("third");
  second.signal("SIGTERM");
  await expect.poll(second.said, { timeout: 60_000 }).toEqual(["started", "stopping"]);
  // What it has begun is not thrown away, what is new is not begun by it.
  await client.patch(refOf("a"), { type: "merge", body: { data: { go: "1" } } });
  expect(await second.ended()).toBe(0);
  expect(second.said()).toEqual(["started", "stopping", "stopped"]);
  await becomes("a", { begun: "second", go: "1", done: "second" });

  await work("b", { go: "1" });
  await becomes("b", { begun: "third", go: "1", done: "third" });
  expect(await leader()).toBe("third");
  third.signal("SIGTERM");
  expect(await third.ended()).toBe(0);
  expect(await leader()).toBe("");
});
