import { addWorkflowControllers } from "#dialects/workflow/controller.ts";
import { dialect } from "#dialects/workflow/dialect.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { toCrd } from "#lib/schema/index.ts";
import {
  type ApiServer,
  createApiServer,
  type DurableStore,
  ensureAdminToken,
  ensureCertificates,
  openStore,
} from "#kernel/apiserver/index.ts";
import { type ApiClient, installCrds, Manager } from "#kernel/kit/index.ts";
import type { StepExecutor } from "#dialects/workflow/steps/executor.ts";
import { eventually } from "#test/support/within.ts";
import type { Endpoint } from "./items.ts";

/** A durable control plane whose `container` steps do nothing, in this process; everything else is as users have it. */
export interface NoopPlane {
  readonly client: ApiClient;
  readonly server: ApiServer;
  readonly store: DurableStore;
  /** Steps that were carried out. */
  readonly effects: () => number;
  readonly listen: (dir: string) => Promise<Endpoint>;
  readonly close: () => Promise<void>;
}

export async function startNoopPlane(dir: string): Promise<NoopPlane> {
  const store = await openStore(`${dir}/store`);
  const server = await createApiServer({
    store,
    clock: systemClock,
    log: silentLog,
    version: "0.0.0",
    admissions: dialect.admission,
  });
  const client = server.client();
  const parts = { clock: systemClock, log: silentLog, random: Math.random };
  const kinds = [...dialect.kinds, ...sharedOf([dialect]).kinds];
  await installCrds(client, kinds.map(toCrd), { ...parts, signal: new AbortController().signal });
  const manager = new Manager({ client, ...parts });
  let count = 0;
  const container = noopExecutor(() => count++);
  addWorkflowControllers(manager, { executors: { container } });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await eventually(
    30_000,
    "the controllers run",
    () => manager.phase === "running",
    () => `${manager.phase}: ${manager.informers.unsynced().join(", ")}`,
  );
  return {
    client,
    server,
    store,
    effects: () => count,
    listen: async (directory) => {
      const tls = await ensureCertificates(`${directory}/pki`, systemClock.now());
      const token = await ensureAdminToken(store);
      const { port } = await server.listen({ port: 0, tls });
      return { port, token, ca: tls.ca };
    },
    close: async () => {
      stop.abort(new Error("the window is over"));
      await ended;
      await server.close();
      await store.close();
    },
  };
}

/** A step type that succeeds when it is started. Asked again about an attempt, it says the same. */
function noopExecutor(effect: () => void): StepExecutor {
  const succeeded = { is: "child", state: { is: "succeeded" } } as const;
  return {
    reference: () => undefined,
    start: () => {
      effect();
      return Promise.resolve(succeeded);
    },
    observe: () => Promise.resolve(undefined),
    cancel: () => Promise.resolve(),
  };
}
