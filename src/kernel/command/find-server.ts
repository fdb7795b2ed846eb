// Finds the server and token for a client without an address; see `kernel/doors/noted-servers.ts`.

import { SlipwayError } from "#lib/base/index.ts";
import { absentPatience, awaitServer, type Look, type Waiting } from "./await-server.ts";
import type { Environment } from "./environment.ts";
import { UsageError } from "./exit-codes.ts";

export interface SoughtServer {
  /** As in its note: `provisioner`. */
  readonly serves: string;
  readonly url?: string | undefined;
  /** Absolute. */
  readonly tokenFile?: string | undefined;
  /** The option for an address. */
  readonly flag: string;
  /** Preferred if several servers run. */
  readonly usual: string;
  /** How to open such a server, for people. */
  readonly opens: string;
}

export interface FoundServer {
  readonly url: string;
  readonly tokenFile?: string | undefined;
}

/**
 * The named server, else the one that this user runs; of several the one at the usual address. The token file is the
 * named or the noted one. Waits for a server that is starting. Throws a UsageError if none or several match.
 */
export async function findServer(
  sought: SoughtServer,
  environment: Environment,
  waiting: Omit<Waiting, "err">,
): Promise<FoundServer> {
  const look = () => lookFor(sought, environment);
  return await awaitServer(`a ${sought.serves} of this user`, look, { err: environment.err, ...waiting });
}

async function lookFor(sought: SoughtServer, environment: Environment): Promise<Look<FoundServer>> {
  const { serves, url, tokenFile, flag, usual, opens } = sought;
  if (url !== undefined && tokenFile !== undefined) return { found: { url, tokenFile } };
  const { meantOf, notedAt, notedServers, readTokenFile } = await import("#kernel/doors/index.ts");
  const noted = (await notedServers(noteDirectories(environment))).filter((server) => server.serves === serves);
  if (url !== undefined) {
    const server = notedAt(noted, url);
    if (server === undefined) return { found: { url } };
    return { found: { url: url.replace(new URL(url).origin, server.url), tokenFile: server.tokenFile } };
  }
  const tokenIn = (file: string) => readTokenFile(file, file).catch(() => undefined);
  const token = await readToken(tokenFile);
  const tokens = token === undefined ? [] : await Promise.all(noted.map((server) => tokenIn(server.tokenFile)));
  const meant = meantOf(token === undefined ? noted : noted.filter((_, at) => tokens[at] === token), usual);
  if ("url" in meant) return { found: { url: meant.url, tokenFile: tokenFile ?? meant.tokenFile } };
  const [first, ...others] = meant.map((server) => server.url);
  const named = `${flag} ${first ?? usual}`;
  if (first !== undefined)
    throw new UsageError(`several servers run here: ${[first, ...others].join(", ")}`, `choose one: ${named}`);
  const what = token === undefined ? "" : " with this token";
  return {
    patience: absentPatience,
    otherwise: () => {
      throw new UsageError(`this user runs no ${serves}${what} on this machine`, `${opens}\nor name one: ${named}`);
    },
  };
}

/** The token in a named file; throws a UsageError for an invalid one. */
export async function readToken(file: string | undefined, flag = "--auth-token-file"): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const { readTokenFile } = await import("#kernel/doors/index.ts");
  return await readTokenFile(file, flag).catch((thrown: unknown) => {
    throw thrown instanceof SlipwayError ? new UsageError(thrown.message, thrown.hint) : thrown;
  });
}

/** The user's runtime directory, else one below the temporary directory. */
export function noteDirectories({ variable }: Pick<Environment, "variable">): readonly string[] {
  const runtime = variable("XDG_RUNTIME_DIR");
  const below = `${variable("TMPDIR") ?? "/tmp"}/slipway-${process.getuid?.() ?? 0}`;
  return runtime?.startsWith("/") === true ? [`${runtime}/slipway`, below] : [below];
}
