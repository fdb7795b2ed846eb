import type { Clock, Logger } from "#lib/base/index.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import type { Results } from "../results/results.ts";

export interface ServeResultsOptions {
  readonly address: string;
  /** Without a token every client is let in. */
  readonly token?: string | undefined;
  /** Lets in clients without credentials although there is a token. */
  readonly allowsAnonymous?: boolean;
  readonly origins?: readonly string[];
  readonly cancel?: (reason: string | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves the worker API (gRPC and REST) over a build's results. Results may come later than the address; clients wait
 * for them. Rejects with `rpc-listen`. Closing ends incomplete streams with UNAVAILABLE. */
export async function serveResults(
  results: Results | Promise<Results>,
  options: ServeResultsOptions,
): Promise<HttpDoor> {
  const { address, token, allowsAnonymous = false, origins, cancel, clock, log } = options;
  if (results instanceof Promise) results.catch(() => undefined);
  const allowed = origins === undefined ? {} : { origins };
  return await openHttpDoor({
    address,
    token,
    allowsAnonymous,
    ...allowed,
    clock,
    log,
    async serves(closing) {
      const [{ createWorkerRest }, { workerStreams }, found] = await Promise.all([
        import("./worker-rest.ts"),
        import("./worker-streams.ts"),
        results,
      ]);
      const { fetch } = createWorkerRest(found, { log, cancel, ...allowed });
      return { fetch, streams: workerStreams(found, { clock, log, closing }) };
    },
  });
}
