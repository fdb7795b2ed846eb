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
