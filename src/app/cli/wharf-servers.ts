// Which server a client means that was told no address. A usual address says nothing of who answers there: another user of the machine may have taken
// it. What a server of this user has noted of itself does, so that what is nobody else's business goes only to one of those.

import type { NotedService } from "#dialects/wharf/index.ts";
import type { Environment } from "./environment.ts";
import { UsageError } from "./exit-codes.ts";

/** Who is looked for. */
export interface SoughtServer {
  readonly serves: NotedService;
  /** What it has to ask for: it is the token's own server then, and no other. */
  readonly token: string | undefined;
  /** The option that names an address. */
  readonly flag: string;
  /** Where it is when nothing is noted, which is good enough for whoever tells nothing. */
  readonly usual: string;
  /** What is told to it is a secret, with or without a token. */
  readonly isSecret?: boolean;
}

/**
 * The URL of the server that is meant: the one that this user has started, of several the one at the usual address. Throws a UsageError where none
 * is known for certain, or several are. What is found can end at any time after; who asks then is told that nobody answers.
 */
export async function findServer(sought: SoughtServer, environment: Environment): Promise<string> {
  const { serves, token, flag, usual, isSecret = token !== undefined } = sought;
  const { digestOf, meantOf, notedServers } = await (await import("#dialects/wharf/index.ts")).loadNotedServers();
  const all = (await notedServers(noteDirectories(environment))).filter((server) => server.serves === serves);
  const digest = token === undefined ? undefined : digestOf(token);
  const found = digest === undefined ? all : all.filter(({ tokenDigest }) => tokenDigest === digest);
  const meant = meantOf(found, usual);
  if (typeof meant === "string") return meant;
  const [first, ...others] = meant;
  if (first === undefined && !isSecret) return usual;
  if (first === undefined) {
    const what = token === undefined ? "" : " and asks for this token";
    throw new UsageError(`no ${serves} of this user runs here${what}`, `name the one that is meant: ${flag} ${usual}`);
  }
  throw new UsageError(
    `several run here: ${[first, ...others].join(", ")}`,
    `name the one that is meant: ${flag} ${first}`,
  );
}

/** Where servers note themselves: the user's runtime directory, and a place below the temporary one where a session has none. */
export function noteDirectories({ variable }: Pick<Environment, "variable">): readonly string[] {
  const runtime = variable("XDG_RUNTIME_DIR");
  const below = `${variable("TMPDIR") ?? "/tmp"}/slipway-${process.getuid?.() ?? 0}`;
  return runtime?.startsWith("/") === true ? [`${runtime}/slipway`, below] : [below];
}
