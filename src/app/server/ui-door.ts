import type { ApiServer, Identity } from "#kernel/apiserver/index.ts";
import { selfSignedPair } from "#kernel/doors/index.ts";
import type { Clock, Instant } from "#lib/base/index.ts";

export interface UiDoorOptions {
  /** For the certificate, which is kept: browsers ask once whether they may trust it. Absolute. */
  readonly directory: string;
  /** On loopback; 0 picks a free one. */
  readonly port: number;
  /** Who logs in with the codes. */
  readonly identity: Identity;
  readonly clock: Clock;
}

/** The web UI of a server that only one command uses. Closed with the server. */
export interface UiDoor {
  readonly url: string;
  /** A code that logs a browser in once, within five minutes. */
  issueCode(): { readonly code: string; readonly until: Instant };
}

/** Serves a server's web UI on loopback. Rejects with `listen-failed` or `insecure-permissions`. */
export async function openUiDoor(
  server: ApiServer,
  { directory, port, identity, clock }: UiDoorOptions,
): Promise<UiDoor> {
  const tls = await selfSignedPair(directory, "ui", clock.now());
  const { url } = await server.listen({ port, tls });
  return { url, issueCode: () => server.issueCode(identity) };
}
