// Who may read the results of a build besides this process, and where. Nobody, unless it is asked for: a worker on a laptop has no reason to listen.

import { SlipwayError } from "#lib/base/index.ts";
import type { Environment } from "./environment.ts";
import { UsageError } from "./exit-codes.ts";
import type { WharfRunOptions } from "./wharf-run-options.ts";

/** The address to serve at; undefined when nothing is to be served. */
export function serveOf({ serve, address, authTokenFile }: WharfRunOptions): string | undefined {
  if (serve === true) return address ?? "127.0.0.1:5010";
  if (address !== undefined) throw new UsageError("--address says where --serve serves, which is not given");
  if (authTokenFile !== undefined) throw new UsageError("--auth-token-file is for --serve, which is not given");
  return undefined;
}

/** The token in the file that was named, as servers read theirs; one that they would refuse is a mistake of the command line. */
export async function readToken(
  { authTokenFile }: Pick<WharfRunOptions, "authTokenFile">,
  { directory }: Environment,
): Promise<string | undefined> {
  if (authTokenFile === undefined) return undefined;
  const { loadTokenFile } = await import("#dialects/wharf/index.ts");
  const paths = await import("node:path");
  const { readTokenFile } = await loadTokenFile();
  return await readTokenFile(paths.resolve(directory, authTokenFile), "--auth-token-file").catch((thrown: unknown) => {
    throw thrown instanceof SlipwayError ? new UsageError(thrown.message, thrown.hint) : thrown;
  });
}
