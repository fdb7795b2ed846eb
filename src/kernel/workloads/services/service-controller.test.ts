import { connect, createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod, Service } from "#kernel/model/index.ts";
import { bench, type Bench } from "../testing/index.ts";
import { addressAnnotation, addServiceProxy } from "./service-proxy.ts";

let client: MemoryClient;
let place: Bench;
const answering = createServer((socket) => socket.on("error", () => undefined).end("hello"));

beforeEach(async () => {
  client = memoryClient({ types: [Service] });
  place = bench({ client });
  addServiceProxy(place.manager);
  place.start();
  await new Promise<void>((resolve) => void answering.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await place.close();
  answering.close();
});

const ask = (port: number): Promise<string> =>
  new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1");
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.on("error", () => resolve("refused")).on("close", () => resolve(text));
  });

test("a Service answers on loopback once a Pod is ready, and no more when it is gone", async () => {
  const address = answering.address();
  const targetPort = typeof address === "object" && address !== null ? address.port : 0;
  const metadata = { name: "web", namespace: "default" };
  const spec = { selector: { app: "web" }, ports: [{ port: 80, targetPort }] };
  await client.create(Service, { apiVersion: "v1", kind: "Service", metadata, spec });
  const told = await place.until(
    Service,
    "web",
    (found) => found?.metadata.annotations?.[addressAnnotation] !== undefined,
  );
  const port = Number(/^80=127\.0\.0\.1:(\d+)$/.exec(told?.metadata.annotations?.[addressAnnotation] ?? "")?.[1]);
  expect(await ask(port)).toBe("");
  const pod = { name: "web-1", namespace: "default", labels: { app: "web" } };
  await client.create(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: pod,
    spec: { containers: [{ name: "c", image: "i" }], nodeName: "another" },
  });
  const status = { podIP: "127.0.0.1", conditions: [{ type: "Ready", status: "True" }] };
  await client.patch(
    { type: Pod, namespace: "default", name: "web-1" },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
  await expect.poll(() => ask(port)).toBe("hello");
  await client.delete({ type: Service, ...metadata });
  await expect.poll(() => ask(port)).toBe("refused");
});

const addressOf = async (name: string) =>
  (await client.get({ type: Service, namespace: "default", name })).metadata.annotations?.[addressAnnotation];

const serviceNamed = (name: string, ports: readonly object[], annotations: Readonly<Record<string, string>> = {}) =>
  client.create(Service, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations },
    spec: { selector: { app: "web" }, ports: [...ports] },
  });

test("attack: the annotation of a Service does not make the server listen where other servers do", async () => {
  await serviceNamed("squatter", [{ port: 80 }], { [addressAnnotation]: "80=127.0.0.1:5001" });
  await expect.poll(() => addressOf("squatter")).not.toBe("80=127.0.0.1:5001");
  expect(Number((await addressOf("squatter"))?.split(":")[1])).toBeGreaterThanOrEqual(1_024);
});

test("attack: one namespace does not take all ports", async () => {
  const ports = Array.from({ length: 60 }, (_, index) => ({ port: index + 1 }));
  await serviceNamed("first", ports);
  await expect.poll(async () => (await addressOf("first"))?.split(" ").length).toBe(60);
  await serviceNamed("second", ports);
  await expect.poll(async () => (await addressOf("second"))?.split(" ").length).toBe(40);
});
