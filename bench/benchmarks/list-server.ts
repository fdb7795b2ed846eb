import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Candidate, CandidateSource, Measured, Role } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import type { Endpoint } from "../ours/items.ts";

/** What is asked for, and a text that the answer holds once for each object. */
export interface ListForm {
  readonly accept: string;
  readonly mark: string;
  /** Objects a page; all at once when absent. */
  readonly limit?: number;
}

export const json: ListForm = { accept: "application/json", mark: '"name":"item-' };
export const table: ListForm = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io", mark: '"cells":[' };

/** What a server is filled with before it is asked. */
export interface Contents {
  /** Where the list is. */
  readonly path: string;
  readonly count: number;
  readonly bytes: number;
}

/** A server that is filled, and a load generator that is connected to it. */
export interface Serving {
  readonly server: WorkerProcess;
  readonly load: WorkerProcess;
  readonly token: string;
  readonly contents: Contents;
}

/** One server and one load generator for all forms of the list. */
export function startListServer(environment: Environment, module: string, contents: Contents): Promise<Serving> {
  return environment.once(`lists ${module} ${contents.bytes}`, async () => {
    const server = environment.worker(module, { isOurs: module.startsWith("ours/") });
    const load = environment.worker("load/http-list");
    environment.onClose(() => server.close());
    environment.onClose(() => load.close());
    const dir = await environment.directory();
    const listening = await server.call<Endpoint>("start", { dir, ...contents });
    await load.call("connect", listening);
    return { server, load, token: listening.token, contents };
  });
}

/** Lists over one connection, again and again. How long the event loop was held is asked of our own servers only. */
export function overTls(name: string, role: Role, start: () => Promise<Serving>, form: ListForm): CandidateSource {
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const { server, load, token, contents } = await start();
      const run = { token, path: contents.path, expected: contents.count, ...form };
      return {
        measure: (ms) =>
          withCpu([server.pid], async () => {
            if (role === "ours") await server.call("held");
            const figures = await load.call<Measured>(form.limit === undefined ? "run" : "pages", { ms, ...run });
            return role === "ours" ? { ...figures, heldMs: await server.call<number>("held") } : figures;
          }),
        close: () => Promise.resolve(),
      };
    },
  };
}
