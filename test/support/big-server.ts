import { join } from "node:path";
import { createStaticToken } from "#kernel/apiserver/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import type { ApiServer } from "#kernel/apiserver/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { loadDialects } from "#dialects/index.ts";
import { definitionsOf } from "#app/server/control-plane.ts";
import { lazyPages } from "#app/server/pages.ts";
import type { KubeObject, ResourceType, Stored } from "#kernel/model/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { BigServer } from "#test/browser/big-server.ts";
import { root } from "./slipway.ts";

const type: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Workflow",
  plural: "workflows",
  namespaced: true,
};

const head = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" } as const;
const step = { container: { image: "busybox" } };

/** See `BigServer`. */
export async function startBigServer(): Promise<BigServer> {
  const dialects = await loadDialects();
  const found: { server?: ApiServer; api?: TestServer } = {};
  const pages = lazyPages(async () => {
    if (found.server === undefined) throw new Error("the server is not there yet");
    return {
      client: found.server.client(),
      dialects,
      directory: join(root, "dist/ui"),
      clock: systemClock,
      log: silentLog,
      random: Math.random,
      version: "1",
    };
  });
  const api = await startTestServer({ pages, definitions: definitionsOf([sharedOf(dialects), ...dialects]) });
  found.server = api.server;
  const token = await createStaticToken(api.store, "anna", ["system:masters"]);
  const newest = new Map<string, Stored>();
  return {
    url: `${api.url}/slipway`,
    async link() {
      const { json } = await api.ask("POST", "/slipway/codes", { token });
      return `${api.url}/slipway/#code=${String(json["code"])}`;
    },
    async createRuns(prefix, count) {
      const runs: readonly KubeObject[] = Array.from({ length: count }, (_, index) => ({
        ...head,
        metadata: { name: `${prefix}-${index}`, namespace: "default", labels: { team: index % 7 === 0 ? "a" : "b" } },
        spec: { steps: { only: step } },
      }));
      for (let from = 0; from < count; from += 1000) await api.client.createMany?.(type, runs.slice(from, from + 1000));
    },
    async createRun(name, steps) {
      const made = Object.entries(steps).map(
        ([id, dependencies]) => [id, dependencies.length === 0 ? step : { ...step, dependencies }] as const,
      );
      const object = { ...head, metadata: { name, namespace: "default" }, spec: { steps: Object.fromEntries(made) } };
      await api.client.create(type, object);
    },
    async setPhase(name, phase) {
      const known = newest.get(name) ?? (await api.client.get({ type, namespace: "default", name }));
      const startTime = new Date(systemClock.now()).toISOString();
      newest.set(
        name,
        await api.client.updateStatus(type, { ...known, status: { phase, startTime } } satisfies KubeObject),
      );
    },
    close: () => api.close(),
  };
}
