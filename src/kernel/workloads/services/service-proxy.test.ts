import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connect, createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import fc from "fast-check";
import type { Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { Balancer } from "./balance.ts";
import { type Endpoint, endpointsOf, portsOf } from "./endpoints.ts";
import { isOwnPeer, userIn } from "./peer-user.ts";
import { TcpProxy } from "./tcp-proxy.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const service = (annotations: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "a", annotations },
  spec: {
    selector: { app: "web" },
    ports: [
      { port: 80, targetPort: "http" },
      { port: 53, protocol: "UDP" },
    ],
  },
});

const pod = (uid: string, version: string, isReady = true): Stored<PodObject> => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: uid,
    uid,
    namespace: "a",
    resourceVersion: "1",
    creationTimestamp: "",
    labels: { app: "web", version },
  },
  spec: { containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: 8080 }] }] },
  status: { podIP: `10.0.0.${uid}`, conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
});

test("ready Pods are endpoints, at the container's port of that name", () => {
  const [port] = portsOf(service());
  if (port === undefined) throw new Error("no port");
  expect(portsOf(service())).toHaveLength(1);
  const pods = [
    pod("1", "1"),
    pod("2", "1", false),
    { ...pod("3", "1"), metadata: { ...pod("3", "1").metadata, deletionTimestamp: "x" } },
  ];
  expect(endpointsOf(service(), port, pods)).toEqual([{ uid: "1", address: "10.0.0.1", port: 8080, weight: 1 }]);
});

test("attack: a port of the node is opened only for a Service of such a type, and in the range of such ports", () => {
  const asked = (type: string, nodePort: number) =>
    portsOf({
      ...service(),
      spec: { type, selector: { app: "web" }, ports: [{ port: 80, nodePort }] },
    })[0]?.nodePort;
  expect([asked("NodePort", 30_080), asked("LoadBalancer", 32_767)]).toEqual([30_080, 32_767]);
  expect([asked("ClusterIP", 30_080), asked("NodePort", 5_432), asked("NodePort", 32_768)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("attack: users of the machine whom the proxy does not admit are not connected to a Pod", async () => {
  const port = await answering("secret");
  const seen: (number | undefined)[] = [];
  const open = async (ownUser: number | undefined) => {
    const proxy = new TcpProxy(
      () => [endpoint("1", 1, port)],
      async (client) => {
        seen.push(client.remotePort);
        return await isOwnPeer(client, ownUser);
      },
    );
    closing.push(() => proxy.close());
    return await proxy.listen("127.0.0.1", 0);
  };
  expect(await ask(await open(process.getuid?.()))).toBe("secret");
  if (process.platform !== "linux") return;
  // Root is served by everybody, so it asks as another user.
  const isRoot = process.getuid?.() === 0;
  const other = await open(isRoot ? 0 : 4_000_000_000);
  const script = `require("net").connect(${other}, "127.0.0.1").on("error", () => 0).pipe(process.stdout)`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script], {
    cwd: "/",
    ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
  });
  expect([stdout, seen.length]).toEqual(["", 2]);
});

test("the user of a connection is that of the line with both ends", () => {
  const line = (local: string, remote: string, user: number) =>
    `   0: ${local} ${remote} 01 00:00 00:00 0 ${user} 0 1 1 0`;
  const table = [line("0200007F:0001", "0100007F:0002", 7), line("0100007F:0001", "0100007F:0002", 8)].join("\n");
  expect(userIn(table, "0100007F:0001", "0100007F:0002")).toBe(8);
  expect(userIn(table, "0100007F:0002", "0100007F:0001")).toBeUndefined();
});

test("Pods of a selector share its weight; those of none get nothing", () => {
  const weights = { "slipway.dev/weights": JSON.stringify({ "version=2": 20, "version=1": 80 }) };
  const pods = [pod("1", "1"), pod("2", "1"), pod("3", "2"), pod("4", "3")];
  const found = endpointsOf(service(weights), { targetPort: 1 }, pods);
  expect(found.map(({ weight }) => weight)).toEqual([40, 40, 20, 0]);
  expect(
    endpointsOf(service({ "slipway.dev/weights": "{" }), { targetPort: 1 }, pods).map(({ weight }) => weight),
  ).toEqual([1, 1, 1, 1]);
});

const endpoint = (uid: string, weight: number, port = 1): Endpoint => ({ uid, address: "127.0.0.1", port, weight });

test("every endpoint gets its share of any number of requests, to within one", () => {
  const weights = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 200 }), (given, requests) => {
      const balancer = new Balancer();
      const endpoints = given.map((weight, index) => endpoint(String(index), weight));
      const counts = given.map(() => 0);
      for (let index = 0; index < requests; index++) counts[Number(balancer.next(endpoints)?.uid)]! += 1;
      const total = given.reduce((sum, weight) => sum + weight, 0);
      for (const [index, weight] of given.entries())
        expect(Math.abs((counts[index] ?? 0) - (requests * weight) / total)).toBeLessThan(given.length);
    }),
    { numRuns: 100 },
  );
});

test("without any weight all are equal, and what did not answer is passed over", () => {
  const balancer = new Balancer();
  const endpoints = [endpoint("a", 0), endpoint("b", 0)];
  expect(new Set([balancer.next(endpoints)?.uid, balancer.next(endpoints)?.uid])).toEqual(new Set(["a", "b"]));
  expect(balancer.next(endpoints, new Set(["a"]))?.uid).toBe("b");
  expect(balancer.next([])).toBeUndefined();
});

async function answering(text: string): Promise<number> {
  const server: Server = createServer((socket) => socket.on("error", () => undefined).end(text));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const ask = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1");
    socket
      .on("data", (chunk: Buffer) => (text += chunk.toString()))
      .on("end", () => resolve(text))
      .on("error", reject);
    socket.end("?");
  });

test("17.15 14.2 200 connections are divided by weight, and an endpoint that refuses costs none", async () => {
  const [one, two] = [await answering("one"), await answering("two")];
  const gone = await answering("gone");
  closing.pop()?.();
  const endpoints = [endpoint("1", 1, one), endpoint("2", 1, two), endpoint("3", 0.1, gone)];
  const proxy = new TcpProxy(
    () => endpoints,
    () => Promise.resolve(true),
  );
  closing.push(() => proxy.close());
  const port = await proxy.listen("127.0.0.1", 0);
  const answers: string[] = [];
  for (let index = 0; index < 200; index++) answers.push(await ask(port));
  const count = answers.filter((answer) => answer === "one").length;
  expect(answers.filter((answer) => answer === "two").length).toBe(200 - count);
  expect(count).toBeGreaterThan(70);
  expect(count).toBeLessThan(130);
});
