import { err, ok, type Result, SlipwayError } from "#lib/base/index.ts";

export type EngineAddress =
  | { readonly kind: "socket"; readonly path: string }
  | {
      readonly kind: "tcp";
      /** Without brackets, also for IPv6. */
      readonly host: string;
      readonly port: number;
      /** Absent: plain HTTP. */
      readonly tls?: EngineTls;
    };

/** A folder with `ca.pem`, `cert.pem` and `key.pem`, as for `docker`. */
export interface EngineTls {
  readonly folder: string;
  /** False accepts any certificate of the engine (DOCKER_TLS_VERIFY unset). */
  readonly verifies: boolean;
}

/** `variable` returns undefined for unset and empty variables. */
export interface AddressSurroundings {
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
}

const defaultSocket = "/var/run/docker.sock";
/** As documented by Docker. */
const plainPort = 2375;
const tlsPort = 2376;

/**
 * The engine that `docker` would talk to, by its variables DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH:
 *
 *     (unset)                      -> the socket /var/run/docker.sock
 *     unix:///run/user/1/d.sock    -> that socket
 *     tcp://host:2375              -> plain HTTP, as long as DOCKER_TLS_VERIFY is unset
 *
 * Contexts of the docker program are not read. `ssh://` and `npipe://` are refused by name.
 */
export function engineAddress({ variable, home }: AddressSurroundings): Result<EngineAddress, SlipwayError> {
  const given = variable("DOCKER_HOST");
  if (given === undefined) return ok({ kind: "socket", path: defaultSocket });
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/(.*)$/.exec(given) ?? [];
  if (scheme === "unix" && rest.startsWith("/")) return ok({ kind: "socket", path: rest });
  if (scheme !== "tcp" && scheme !== "http" && scheme !== "https") return err(badHost(given));
  const usesTls = scheme === "https" || variable("DOCKER_TLS_VERIFY") !== undefined;
  const url = URL.canParse(`http://${rest}`) ? new URL(`http://${rest}`) : undefined;
  if (url === undefined || url.hostname === "" || url.pathname !== "/") return err(badHost(given));
  // A URL drops port 80; the text still has it.
  const port = url.port !== "" ? Number(url.port) : /:80\/?$/.test(rest) ? 80 : usesTls ? tlsPort : plainPort;
  const folder = variable("DOCKER_CERT_PATH") ?? `${home}/.docker`;
  const tls = usesTls ? { tls: { folder, verifies: variable("DOCKER_TLS_VERIFY") !== undefined } } : {};
  return ok({ kind: "tcp", host: url.hostname.replace(/^\[|\]$/g, ""), port, ...tls });
}

const badHost = (given: string): SlipwayError =>
  new SlipwayError("engine-address", `DOCKER_HOST must be unix:///path or tcp://host:port, found ${given}`, {
    hint: given.startsWith("ssh:")
      ? "forward the engine's socket with ssh -L and name that socket"
      : "unset it for the local engine",
  });

/** `unix:///var/run/docker.sock` */
export const formatAddress = (address: EngineAddress): string =>
  address.kind === "socket"
    ? `unix://${address.path}`
    : `tcp://${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;

/** The engine shares this machine's files. Assumed of sockets only: a TCP port may be the end of a tunnel. */
export const isLocal = (address: EngineAddress): boolean => address.kind === "socket";
