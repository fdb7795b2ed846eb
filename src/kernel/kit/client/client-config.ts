import type { Clock, Logger, Random } from "#lib/base/index.ts";

/** Token and certificate may both be given. */
export interface Credential {
  readonly token?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  /** PEM. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Sources cache, and read again when a credential expires or was refused. */
export interface CredentialSource {
  get(signal?: AbortSignal): Promise<Credential>;
  /** The server refused the last answer. True if asking again may give a better one. */
  refused(): boolean;
}

export const fixedCredential = (credential: Credential): CredentialSource => ({
  get: () => Promise.resolve(credential),
  refused: () => false,
});

/** A resolved connection to a Kubernetes API: PEM instead of files. */
export interface Connection {
  /** `https://host:port/base`; `http` is for tests and Unix sockets. */
  readonly server: string;
  /** A Unix socket instead of the host of `server`. */
  readonly socketPath?: string;
  /** PEM; default: the system's authorities. */
  readonly certificateAuthority?: string;
  readonly skipTlsVerify?: boolean;
  /** The name expected in the server's certificate. */
  readonly tlsServerName?: string;
  readonly credentials: CredentialSource;
  readonly impersonate?: Impersonation;
  /** For commands that name none. */
  readonly namespace?: string;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

export interface HttpClientConfig {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** `slipway/<version>`; servers take the field manager from before the slash. */
  readonly userAgent?: string;
  /** Default: 50 a second with bursts of 100; none for loopback addresses and Unix sockets. `false` disables it. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number } | false;
  /** Default: 60 s. Watches and followed logs are exempt. */
  readonly requestTimeoutMs?: number;
}

/** Whether the connection stays on this machine, judged by the address alone. */
export function isLocal({ server, socketPath }: Connection): boolean {
  const { hostname } = new URL(server);
  return socketPath !== undefined || hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
