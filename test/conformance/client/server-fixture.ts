import { FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { memoryStore } from "#kernel/apiserver/store/open.ts";
import { type ApiClient, type Connection, createHttpClient, fixedCredential } from "#kernel/kit/index.ts";
import type { ApiClientFixture } from "#kernel/kit/client/client.contract.ts";
import { CustomResourceDefinition, Namespace, type ResourceType } from "#kernel/model/index.ts";

const widgets: ResourceType = {
  group: "contract.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

const freeForm = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.contract.slipway.dev" },
  spec: {
    group: widgets.group,
    names: { plural: widgets.plural, singular: "widget", kind: widgets.kind, listKind: "WidgetList" },
    scope: "Namespaced",
    versions: [
      {
        name: widgets.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: freeForm, status: freeForm } } },
      },
    ],
  },
};

/** A server whose history is forgotten when its store's clock is moved. */
export interface ContractServer extends TestServer {
  forget(): Promise<void>;
}

export async function startContractServer(): Promise<ContractServer> {
  const storeClock = new FakeClock();
  const store = memoryStore({ clock: storeClock, retention: { looks: 0, minEvents: 0, everyMs: 1000 } });
  const server = await startTestServer({ store });
  await server.client.create(CustomResourceDefinition, definition);
  return {
    ...server,
    forget: () => storeClock.advance(1000),
    async close() {
      await server.close();
      await store.close();
    },
  };
}

let namespaces = 0;

/** A fixture of the contract suite: a new namespace on the server, seen through `client`. */
export async function fixtureOn(server: ContractServer, client: ApiClient): Promise<ApiClientFixture> {
  const namespace = `contract-${++namespaces}`;
  await server.client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  return { client, widgets, namespace, compact: () => server.forget(), close: () => client.close() };
}

/** A client over HTTPS with the server's own certificate authority and token. */
export const httpsClient = (server: TestServer, more: Partial<Connection> = {}): ApiClient =>
  createHttpClient({
    clock: systemClock,
    log: silentLog,
    random: () => 0,
    connection: {
      server: server.url,
      certificateAuthority: server.ca,
      credentials: fixedCredential({ token: server.token }),
      ...more,
    },
  });
