import type { Clock, Logger, Random } from "#lib/base/index.ts";

/** How a request says who sends it. Token and certificate may stand together, as in kubeconfigs; a server takes what it likes. */
export interface Credential {
  readonly token?: string;
  /** HTTP basic authentication, for clusters that still have it. */
  readonly basic?: { readonly username: string; readonly password: string };
  /** PEM. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Where credentials come from. Cached by the source; read again when they run out or were refused. */
export interface CredentialSource {
  get(signal?: AbortSignal): Promise<Credential>;
  /** The server refused the last answer. True when asking again may give a better one; false from a source that has just looked. */
  refused(): boolean;
}

/** Credentials that never change; when they are refused, they are wrong. */
export const fixedCredential = (credential: Credential): CredentialSource => ({
  get: () => Promise.resolve(credential),
  refused: () => false,
});

/** One way to one Kubernetes API, with everything read and resolved: PEM instead of files, one server instead of contexts. */
export interface Connection {
  /** `https://host:port/base`. `http` sends tokens in the clear and is for tests and Unix sockets. */
  readonly server: string;
  /** A Unix socket to connect to instead of the host of `server`. */
  readonly socketPath?: string;
  /** PEM; the system's authorities without it. */
  readonly certificateAuthority?: string;
  readonly skipTlsVerify?: boolean;
  /** The name expected in the server's certificate, instead of the host's. */
  readonly tlsServerName?: string;
  readonly credentials: CredentialSource;
  readonly impersonate?: Impersonation;
  /** The namespace of the context, for commands that name none. */
  readonly namespace?: string;
}

/** Acting as somebody else, if the server lets us: the `Impersonate-` headers of every request. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

/** All an HTTP client needs; it reads nothing else of the world. */
export interface HttpClientConfig {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** `slipway/<version>`; servers name the field manager after the part before the slash. */
  readonly userAgent?: string;
  /** 50 a second with bursts of 100 unless told; none for loopback addresses and Unix sockets. `false` switches it off. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number } | false;
  /** A request without an answer for this long fails; 60 s unless told. Watches and followed logs are exempt. */
  readonly requestTimeoutMs?: number;
}

/** Does the connection stay on this machine? By what the address says; a name that resolves to loopback counts as far. */
export function isLocal({ server, socketPath }: Connection): boolean {
  const { hostname } = new URL(server);
  return socketPath !== undefined || hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
