import { SlipwayError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";

/** `before`: the write does not arrive; `after`: it does, and its answer is lost. */
export type Fault = "before" | "after";

export interface FaultyClient {
  readonly client: ApiClient;
  readonly writes: () => number;
}

/** A process that dies at its `at`-th write: nothing that it does afterwards arrives. */
export function faultyClient(inner: ApiClient, at: number, fault: Fault): FaultyClient {
  let writes = 0;
  const dead = (): Error => new SlipwayError("test-dead", "the process is dead");
  const write = async <T>(run: () => Promise<T>): Promise<T> => {
    writes++;
    if (writes > at || (writes === at && fault === "before")) throw dead();
    const answer = await run();
    if (writes >= at) throw dead();
    return answer;
  };
  const client: ApiClient = Object.assign(Object.create(inner) as ApiClient, {
    create: (...args: Parameters<ApiClient["create"]>) => write(() => inner.create(...args)),
    update: (...args: Parameters<ApiClient["update"]>) => write(() => inner.update(...args)),
    delete: (...args: Parameters<ApiClient["delete"]>) => write(() => inner.delete(...args)),
    get: (...args: Parameters<ApiClient["get"]>) => inner.get(...args),
    list: (...args: Parameters<ApiClient["list"]>) => inner.list(...args),
    watch: (...args: Parameters<ApiClient["watch"]>) => inner.watch(...args),
  });
  return { client, writes: () => writes };
}
