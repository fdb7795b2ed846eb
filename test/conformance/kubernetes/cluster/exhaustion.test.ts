import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { type Api, type Ask, openApi } from "./suite/api.ts";

// Whoever asks for too much is refused, and the others are answered as before. A server of its own, because its memory is measured.
// Times are printed, not judged: attackers and the one who measures share a process and the machine, so ratios are upper bounds.

/** GETs of one measurement. */
const samples = 150;
/** Megabytes that the server may need more than idle while it is attacked. */
const memoryLimit = 400;

let directory: string;
let server: TestServer;
let api: Api;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(directory, ["--log-level", "error"]);
  api = await openApi(server.kubeconfig);
});
afterAll(async () => {
  api.close();
  await server.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

const maps = "/api/v1/namespaces/default/configmaps";
const json = { "Content-Type": "application/json" };

const megabytes = (): number => {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
};

/** 99 of 100 GETs are answered within this many milliseconds. */
async function p99(): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < samples; count += 1) {
    const begun = performance.now();
    const { status } = await api.ask("GET", `${maps}/kube-root-ca.crt`);
    times.push(performance.now() - begun);
    expect(status).toBe(200);
  }
  return times.sort((a, b) => a - b)[Math.floor(samples * 0.99)] ?? 0;
}

interface Attack {
  readonly name: string;
  readonly ask: () => { readonly method: string; readonly path: string; readonly ask?: Ask };
  readonly statuses: readonly number[];
}

const bomb = `${Array.from(
  { length: 12 },
  (_, n) =>
    `a${n}: &a${n} [${
      n === 0
        ? "x"
        : Array(10)
            .fill(`*a${n - 1}`)
            .join(",")
    }]`,
).join("\n")}\n`;

const attacks: readonly Attack[] = [
  {
    name: "bodies of 24 MiB",
    ask: () => ({ method: "POST", path: maps, ask: { bytes: Buffer.alloc(24 * 2 ** 20, 0x20), headers: json } }),
    statuses: [413],
  },
  {
    name: "JSON 100,000 deep",
    ask: () => ({
      method: "POST",
      path: maps,
      ask: { bytes: "[".repeat(100_000) + "]".repeat(100_000), headers: json },
    }),
    statuses: [400],
  },
  {
    name: "YAML aliases of aliases",
    ask: () => ({ method: "POST", path: maps, ask: { bytes: bomb, headers: { "Content-Type": "application/yaml" } } }),
    statuses: [400],
  },
  {
    name: "selectors of thousands of terms",
    ask: () => ({
      method: "GET",
      path: `${maps}?labelSelector=${Array.from({ length: 700 }, (_, n) => `k${n}!=v`).join(",")}`,
    }),
    statuses: [200, 400, 414],
  },
  {
    name: "selectors longer than a URL may be",
    ask: () => ({ method: "GET", path: `${maps}?labelSelector=${"a,".repeat(10_000)}a` }),
    statuses: [400, 414, 431],
  },
];

let idle = 0;
let idleMemory = 0;

test("the idle server is measured", async () => {
  await p99();
  idle = await p99();
  idleMemory = megabytes();
  expect(idle).toBeGreaterThan(0);
});

test.each(attacks)("$name are refused while others are answered", async ({ name, ask, statuses }) => {
  const attack = { isOver: false, answered: 0 };
  const attackers = Array.from({ length: 4 }, async () => {
    while (!attack.isOver && attack.answered < 100) {
      const { method, path, ask: more } = ask();
      // A server that does not want to read a body may close the connection instead of answering.
      const status = await api.ask(method, path, more).then(
        ({ status }) => status,
        () => statuses[0],
      );
      expect(statuses).toContain(status);
      attack.answered += 1;
    }
  });
  const during = await p99();
  const peak = megabytes();
  attack.isOver = true;
  await Promise.all(attackers);
  report(name, during, peak, `${attack.answered} refused`);
  expect(attack.answered).toBeGreaterThan(0);
  expect(peak - idleMemory).toBeLessThan(memoryLimit);
});

test("thousands of idle connections do not keep others from being answered", async () => {
  const { hostname, port } = new URL(server.url);
  const wanted = Number(process.env["IDLE_CONNECTIONS"] ?? 1000);
  const sockets: TLSSocket[] = [];
  const open = () =>
    new Promise<void>((resolve) => {
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, resolve);
      socket.once("error", () => resolve());
      sockets.push(socket);
    });
  for (let count = 0; count < wanted; count += 50) await Promise.all(Array.from({ length: 50 }, open));
  const during = await p99();
  const peak = megabytes();
  for (const socket of sockets) socket.destroy();
  report(`${wanted} idle connections`, during, peak, `${sockets.length} opened`);
  expect(peak - idleMemory).toBeLessThan(memoryLimit);
});

test("watchers that do not read are cut, and others see everything", async () => {
  const slow = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const response = await api.send("GET", `${maps}?watch=1`);
      response.pause();
      return response;
    }),
  );
  const quick = await api.watch(`${maps}?watch=1&fieldSelector=metadata.name%3Dlast`);
  const data = { big: "x".repeat(900_000) };
  for (let count = 0; count < 30; count += 1) {
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "big" },
      data: { ...data, n: String(count) },
    };
    const { status, text } = await api.ask(count === 0 ? "POST" : "PUT", count === 0 ? maps : `${maps}/big`, { body });
    expect(status, text).toBe(count === 0 ? 201 : 200);
  }
  const during = await p99();
  const peak = megabytes();
  await api.ask("POST", maps, { body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "last" } } });
  expect(await quick.next()).toMatchObject({ type: "ADDED" });
  quick.close();
  report("5 watchers that do not read 27 MB", during, peak, "");
  // What is left in the pipes comes; what was never sent does not, because the server has hung up.
  const ends = slow.map(async (response) => {
    let bytes = 0;
    await new Promise<void>((resolve) => {
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.once("close", resolve);
      response.resume();
    });
    return bytes;
  });
  for (const bytes of await Promise.all(ends)) expect(bytes).toBeLessThan(27_000_000);
  expect(peak - idleMemory).toBeLessThan(memoryLimit);
});

function report(name: string, during: number, peak: number, more: string): void {
  const ratio = (during / idle).toFixed(1);
  process.stderr.write(
    `${name}: p99 of a GET ${during.toFixed(1)} ms, ${ratio} times idle; memory ${peak} MB, idle ${idleMemory} MB; ${more}\n`,
  );
}
