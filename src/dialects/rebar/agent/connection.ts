import { type Clock, err, ok, type Result } from "#lib/base/index.ts";
import { RebarClient, type Credentials, type Trust } from "./client.ts";

/** What the options and variables of a program say of the server. */
export interface Connection {
  /** Tried in turn. */
  readonly endpoints: readonly string[];
  readonly credentials: Credentials;
  readonly trust: Trust;
}

export interface ConnectionFlags {
  readonly endpoint?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly ca?: string;
  readonly fingerprint?: string;
}

export const defaultEndpoint = "https://127.0.0.1:8092";
/** The account of a new server, in the original too. */
const defaultUser = { user: "rocketskates", password: "r0cketsk8ts" } as const;
export const caVariable = "SLIPWAY_REBAR_CA";
export const fingerprintVariable = "SLIPWAY_REBAR_FINGERPRINT";

/** Flags count before variables. The error is for people. */
export async function readConnection(
  flags: ConnectionFlags,
  variable: (name: string) => string | undefined,
  readText: (file: string) => Promise<string>,
): Promise<Result<Connection, string>> {
  const [keyUser, ...rest] = (variable("RS_KEY") ?? "").split(":");
  const keyPassword = rest.join(":");
  if (variable("RS_KEY") !== undefined && (keyUser === "" || keyPassword === ""))
    return err("RS_KEY: expected USER:PASSWORD");
  const token = flags.token ?? (flags.username === undefined ? variable("RS_TOKEN") : undefined);
  const user = flags.username ?? (keyUser === "" ? undefined : keyUser) ?? defaultUser.user;
  const password = flags.password ?? (keyPassword === "" ? defaultUser.password : keyPassword);
  const [ca, fingerprint] = [flags.ca ?? variable(caVariable), flags.fingerprint ?? variable(fingerprintVariable)];
  if (ca !== undefined && fingerprint !== undefined) return err("--ca and --fingerprint exclude each other");
  if (fingerprint !== undefined && !/^[0-9a-f]{64}$/i.test(fingerprint.replaceAll(":", "")))
    return err(`--fingerprint: expected the 64 hexadecimal digits of SHA-256, found ${JSON.stringify(fingerprint)}`);
  const trust: Trust =
    ca !== undefined
      ? { kind: "authority", pem: await readText(ca) }
      : fingerprint !== undefined
        ? { kind: "pinned", fingerprint }
        : { kind: "any" };
  return ok({
    endpoints: endpointsOf(flags.endpoint, variable),
    credentials: token !== undefined && token !== "" ? { token } : { user, password },
    trust,
  });
}

/** As in the original, a flag is tried first and RS_ENDPOINT replaces RS_ENDPOINTS. */
function endpointsOf(flag: string | undefined, variable: (name: string) => string | undefined): readonly string[] {
  const one = variable("RS_ENDPOINT");
  const many = (variable("RS_ENDPOINTS") ?? "").split(" ").filter((each) => each !== "");
  const named = one !== undefined ? [one] : many.length > 0 ? many : [defaultEndpoint];
  return flag === undefined ? named : [flag, ...named.filter((each) => each !== flag && each !== defaultEndpoint)];
}

/** For people: what is used, since it decides who can read the credentials. */
export const trustText = (trust: Trust): string =>
  trust.kind === "any"
    ? "the server's certificate is not verified; use --ca or --fingerprint"
    : trust.kind === "pinned"
      ? "the server's certificate is pinned by its fingerprint"
      : "the server's certificate is verified with the given authority";

/** A client of the first endpoint that accepts the credentials. Rejects with the last failure. */
export async function openClient(connection: Connection, clock: Clock, signal: AbortSignal): Promise<RebarClient> {
  const { endpoints, credentials, trust } = connection;
  let failure: unknown = new Error("no endpoint is given");
  for (const [index, endpoint] of endpoints.entries()) {
    const client = new RebarClient({ endpoint, credentials, trust, clock });
    try {
      // With one endpoint and a token there is nothing to find out.
      if (endpoints.length > 1 && "token" in credentials) await client.get(["info"], signal);
      await client.token(signal);
      return client;
    } catch (thrown) {
      client.close();
      failure = thrown;
      if (signal.aborted || index === endpoints.length - 1) break;
    }
  }
  throw failure;
}
