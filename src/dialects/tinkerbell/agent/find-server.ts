import { type Clock, type Logger, type Millis, sleep } from "#lib/base/index.ts";
import { meantOf, notedAt, notedServers } from "#kernel/doors/index.ts";
import type { AgentSettings } from "./agent-options.ts";

export interface ServerPlace {
  readonly address: string;
  readonly tokenFile: string | undefined;
}

const lookEvery: Millis = 500;
const usualUrl = "http://127.0.0.1:42113";

/** The named server, else this user's server, which is waited for. Rejects if several servers are candidates. */
export async function findServer(
  { server, tokenFile, tls }: Pick<AgentSettings, "server" | "tokenFile" | "tls">,
  { notes, clock, log }: { readonly notes: readonly string[]; readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<ServerPlace> {
  if (server !== undefined && tokenFile !== undefined) return { address: server, tokenFile };
  const noted = async () => (await notedServers(notes)).filter(({ serves }) => serves === "tinkerbell-agents");
  if (server !== undefined) {
    const found = notedAt(await noted(), `http://${server}`);
    if (found === undefined) return { address: server, tokenFile };
    // With TLS the given name is kept, because the certificate is for it.
    return { address: tls === undefined ? new URL(found.url).host : server, tokenFile: found.tokenFile };
  }
  for (let isFirst = true; ; isFirst = false) {
    const meant = meantOf(await noted(), usualUrl);
    if ("url" in meant) return { address: new URL(meant.url).host, tokenFile: tokenFile ?? meant.tokenFile };
    if (meant.length > 0) {
      const addresses = meant.map(({ url }) => new URL(url).host).join(", ");
      throw new Error(`several servers of this user serve agents: ${addresses}; name one with --server`);
    }
    if (isFirst)
      log.info(
        "waiting for a server of this user that serves agents; it opens the port with the first Tinkerbell object",
        {
          option: "--server names another one",
        },
      );
    await sleep(clock, lookEvery, signal);
  }
}
