import { err, ok, type Result, SlipwayError } from "#lib/base/index.ts";

/** Where a Docker Engine listens. */
export type EngineAddress =
  | { readonly kind: "socket"; readonly path: string }
  | {
      readonly kind: "tcp";
      /** Without brackets, also when it is an IPv6 address. */
      readonly host: string;
      readonly port: number;
      /** Absent: plain HTTP. */
      readonly tls?: EngineTls;
    };

/** A folder with `ca.pem`, `cert.pem` and `key.pem`, as `docker` itself wants them. */
export interface EngineTls {
  readonly folder: string;
  /** False takes any certificate of the engine: DOCKER_TLS_VERIFY unset while a port for TLS is named. */
  readonly verifies: boolean;
}

/** What is looked at: `variable` answers undefined for what is unset or empty. */
export interface AddressSurroundings {
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
}

const defaultSocket = "/var/run/docker.sock";
/** Of Docker's own documents: plain, and with TLS. */
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
  // A URL drops the port 80, which is what nobody means here; the text still has it.
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

/** As people write it: `unix:///var/run/docker.sock`. */
export const formatAddress = (address: EngineAddress): string =>
  address.kind === "socket"
    ? `unix://${address.path}`
    : `tcp://${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;

/**
 * The engine shares this machine's files, so that directories of ours can be mounted. Only of a socket it is assumed: a TCP port of
 * this machine may be the mouth of a tunnel.
 */
export const isLocal = (address: EngineAddress): boolean => address.kind === "socket";
