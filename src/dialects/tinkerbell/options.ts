import { err, type Millis, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";
import type { ListenChoice, ServerOptions } from "#kernel/dialect/index.ts";
import type { TlsPaths } from "#kernel/rpc/index.ts";
import type { GivenSettings, Some } from "./settings.ts";

export interface TinkerbellOptions {
  /** No server for agents without it. */
  readonly listen?: ListenChoice;
  /** What runs in this process; both if absent. They share only the API, so a cluster may run them separately. */
  readonly part?: "controller" | "server" | undefined;
  /** The name of this server in Agent objects, if a cluster has several. */
  readonly name?: string | undefined;
  readonly settings?: GivenSettings;
  /** Default: token. */
  readonly auth?: "token" | "mtls" | undefined;
  /** Agents without credentials are admitted under any id. */
  readonly allowsAnonymous?: boolean;
  readonly tls?: TlsPaths | undefined;
  readonly pollHold?: Millis | undefined;
  readonly keepalive?: Some<{ readonly time: Millis; readonly timeout: Millis }>;
}

/** Where agents connect by default; if the port is taken, another one of the same host. */
export const usualTinkListen = "127.0.0.1:42113";

interface Row<T> {
  /** Placeholder in the help; absent for flags without a value. */
  readonly value?: string;
  readonly summary: string;
  readonly read: (reader: OptionReader, name: string) => T;
}

const row =
  <T>(read: Row<T>["read"], value?: string) =>
  (summary: string): Row<T> => ({ ...(value === undefined ? {} : { value }), summary, read });
const file = row((reader, name) => reader.file(name), "file");
const duration = row((reader, name) => reader.duration(name), "time");
const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;
const count = (value: string) => row((reader, name) => reader.number(name, "a whole number above 0", isCount), value);
const fraction = row((reader, name) => reader.number(name, "a number from 0 to 1", (value) => value <= 1), "n");
const oneOf = <T extends string>(...choices: readonly T[]) => row((reader, name) => reader.oneOf(name, choices), "how");

/** Options without their prefix: `--tink-listen` or `SLIPWAY_TINK_LISTEN`. */
const rows = {
  listen: row(
    (reader, name) => reader.listen(name, usualTinkListen),
    "address",
  )(`HOST:PORT for agents, or off (default: ${usualTinkListen} if it is free)`),
  "tls-cert": file("certificate of the server for agents; read again when it changes"),
  "tls-key": file("private key of that certificate"),
  "client-ca": file("CA that signs the certificates of agents"),
  auth: oneOf("token", "mtls")("token (default; this server's or one in Secret default/tink-agent-tokens) or mtls"),
  "anonymous-auth": row((reader, name) => reader.flag(name))("also serve agents without credentials"),
  "scheduled-timeout": duration("time for an agent to start a workflow it was sent (default: 2m)"),
  "cancelling-timeout": duration("time for an agent to confirm a cancellation (default: 1m)"),
  "reject-backoff-base": duration("delay before a rejected workflow is sent again (default: 5s)"),
  "reject-backoff-max": duration("longest delay after repeated rejections (default: 5m)"),
  "reject-backoff-jitter": fraction("random part of that delay, from 0 to 1 (default: 0.2)"),
  "interrupted-actions": oneOf("Rerun", "Fail")("action whose agent restarts: Rerun (default) or Fail"),
  "max-action-attempts": count("n")("starts of one action, including interrupted ones (default: 3)"),
  "agent-lost-timeout": row(
    (reader, name) => reader.duration(name, "zero"),
    "time",
  )("fail the work of an agent away for so long; 0 is never (default: 0)"),
  "poll-hold": duration("how long a poll waits for work (default: 30s)"),
  "keepalive-time": duration("interval between pings on connections of agents (default: 30s)"),
  "keepalive-timeout": duration("timeout for the answer to a ping (default: 10s)"),
  "max-render-bytes": count("bytes")("largest rendered template (default: 262144)"),
};

const heading = "Tinkerbell:";
const option = prefixedOption("tink", heading);
const flag = prefixedFlag("tink", heading);

export const tinkOptions: readonly OptionSpec[] = Object.entries(rows).map(
  ([name, { value, summary }]: readonly [string, Row<unknown>]) =>
    value === undefined ? flag(name, summary) : option(name, value, summary),
);

/** The options that are set, or every problem with them. */
export function readTinkOptions(sources: OptionSources): Result<TinkerbellOptions, readonly string[]> {
  const reader = new OptionReader("tink", sources);
  const read = <K extends keyof typeof rows>(name: K) =>
    rows[name].read(reader, name) as ReturnType<(typeof rows)[K]["read"]>;
  const listen = read("listen");
  const tls = tlsOf(reader, read("tls-cert"), read("tls-key"), read("client-ca"));
  const auth = read("auth");
  if (auth === "mtls" && tls?.clientCa === undefined)
    reader.problems.push("--tink-auth mtls needs --tink-tls-cert, --tink-tls-key and --tink-client-ca");
  const allowsAnonymous = read("anonymous-auth");
  if (allowsAnonymous && auth === "mtls")
    reader.problems.push("--tink-anonymous-auth and --tink-auth mtls exclude each other");
  const settings: GivenSettings = {
    scheduledTimeout: read("scheduled-timeout"),
    cancellingTimeout: read("cancelling-timeout"),
    rejectBackoff: {
      base: read("reject-backoff-base"),
      max: read("reject-backoff-max"),
      jitter: read("reject-backoff-jitter"),
    },
    interruptedActions: read("interrupted-actions"),
    maxActionAttempts: read("max-action-attempts"),
    agentLostTimeout: read("agent-lost-timeout"),
    maxRenderBytes: read("max-render-bytes"),
  };
  const given: TinkerbellOptions = {
    ...(listen === undefined ? {} : { listen }),
    settings,
    tls,
    auth,
    ...(allowsAnonymous ? { allowsAnonymous } : {}),
    pollHold: read("poll-hold"),
    keepalive: { time: read("keepalive-time"), timeout: read("keepalive-timeout") },
  };
  return reader.problems.length > 0 ? err(reader.problems) : ok(given);
}

function tlsOf(
  { problems }: OptionReader,
  certificate: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): TinkerbellOptions["tls"] {
  if (certificate !== undefined && key !== undefined)
    return { certificate, key, ...(clientCa === undefined ? {} : { clientCa }) };
  if (certificate !== undefined || key !== undefined)
    problems.push("expected both of --tink-tls-cert and --tink-tls-key, or none");
  else if (clientCa !== undefined) problems.push("--tink-client-ca needs --tink-tls-cert and --tink-tls-key");
  return undefined;
}

export const serverOptions: ServerOptions = {
  specs: tinkOptions,
  read: (sources) => Promise.resolve(readTinkOptions(sources)),
  // On a cluster, servers for agents are separate processes: `slipway tink server`.
  forControllers: { part: "controller" } satisfies TinkerbellOptions,
};

export const runOptions: readonly OptionSpec[] = [
  { flags: "--hardware <name>", summary: "Hardware to run a Template for: its name, or a file with it" },
  {
    flags: "--agent <id>",
    summary: `wait for this Tinkerbell agent instead of starting one (at ${usualTinkListen} or $SLIPWAY_TINK_LISTEN)`,
  },
];
export const runExamples = ["slipway run --ephemeral examples/tinkerbell/template.yaml --set device_1=local"];
