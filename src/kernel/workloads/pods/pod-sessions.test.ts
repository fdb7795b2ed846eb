import { createFakeRuntime } from "#kernel/runtimes/testing/index.ts";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { fakeContainerHost } from "../testing/fake-container-host.ts";
import { reachInto } from "./container-reach.ts";
import { createPodSessions } from "./pod-sessions.ts";

test("ports of the machine are those of a pod on its network, and of no other that has lost its own", async () => {
  const server = createServer((socket) => socket.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const reach = reachInto(fakeContainerHost(), "127.0.0.1");
  const sessions = createPodSessions({
    runtime: createFakeRuntime({ clock: new FakeClock() }),
    reach,
    directory: "/nowhere",
  });
  const podOf = (spec: object) => ({ metadata: { name: "p", uid: "u" }, spec }) as unknown as KubeObject;
  const { signal } = new AbortController();
  await expect(sessions.connect(podOf({}), port, signal)).rejects.toThrow("no network");
  const connection = await sessions.connect(podOf({ hostNetwork: true }), port, signal);
  connection.destroy();
  server.close();
  await once(server, "close");
});
