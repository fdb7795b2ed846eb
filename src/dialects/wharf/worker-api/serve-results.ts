import type { Clock, Logger } from "#lib/base/index.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import type { Results } from "../results/results.ts";

/** Where the results of a build are served, and to whom. */
export interface ServeResultsOptions {
  /** `host:port`; port 0 is a free one. */
  readonly address: string;
  /** What clients present; without a token, every client is let in. */
  readonly token?: string | undefined;
  /** Clients that present nothing are let in although there is a token. */
  readonly allowsAnonymous?: boolean;
  /** Origins of web pages that may ask. */
  readonly origins?: readonly string[];
  /** Ends the build. Absent where there is nothing to end. */
  readonly cancel?: (reason: string | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The worker API over the results of a build that runs, or has ended: gRPC and REST at one address. Results may come later than the address,
 * which can so be had before the build begins; who connects waits for them. Rejects with `rpc-listen`. Close it when nobody is to be
 * answered any more: streams that have not brought everything end UNAVAILABLE.
 *
 *     const api = await serveResults(results, { address: "127.0.0.1:0", clock, log, cancel });
 *     … api.address, await api.close()
 */
export async function serveResults(
  results: Results | Promise<Results>,
  options: ServeResultsOptions,
): Promise<HttpDoor> {
  const { address, token, allowsAnonymous = false, origins, cancel, clock, log } = options;
  // Who connects is told; that nobody does is no bug.
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
