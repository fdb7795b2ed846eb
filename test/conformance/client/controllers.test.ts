import { afterAll, beforeAll } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { describeControllers } from "#kernel/kit/controller/controller.contract.ts";
import { memoryClient, chaosClient, seededRandom } from "#kernel/kit/testing/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { type ContractServer, fixtureOn, httpsClient, startContractServer } from "./server-fixture.ts";

// 51. The same controllers on everything that is an API: what is here runs on a cluster by kubeconfig too (kubernetes/cluster).

let server: ContractServer;
/** Of its own, because a watch that breaks at one event in fifty never shows the objects of all other tests. */
let chaotic: ContractServer;
beforeAll(async () => {
  server = await startContractServer();
  chaotic = await startContractServer();
});
afterAll(async () => {
  await server.close();
  await chaotic.close();
});

const Widget: ResourceType = {
  group: "contract.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

const faults = {
  conflict: 0.1,
  tooMany: 0.02,
  internal: 0.1,
  lostAnswer: 0.1,
  expired: 0.05,
  latency: 0.3,
  endedWatch: 0.02,
  brokenWatch: 0.02,
  duplicateEvent: 0.1,
};

describeControllers("in memory", async () => {
  const client = memoryClient({ clock: new FakeClock(), types: [Widget] });
  return { client, observer: client, namespace: "default", widgets: Widget, close: () => client.close() };
});

describeControllers("embedded", async () => ({
  ...(await fixtureOn(server, server.server.client())),
  observer: server.client,
}));

describeControllers("over HTTPS", async () => ({
  ...(await fixtureOn(server, httpsClient(server))),
  observer: server.client,
}));

describeControllers("over HTTPS, through chaos", async () => {
  const client = chaosClient(httpsClient(chaotic), { clock: systemClock, random: seededRandom(1), faults });
  return { ...(await fixtureOn(chaotic, client)), observer: chaotic.client };
});
