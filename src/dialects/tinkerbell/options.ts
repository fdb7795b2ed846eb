import type { ServerOptions } from "#kernel/dialect/index.ts";
import type { TinkerbellOptions } from "./given-options.ts";
import { err, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";

// What `slipway up` can be told of Tinkerbell. It is apart from the command because there is much of it, and told to the dialect as it was said: what
// is usual where nothing was said is the dialect's to know.

/** Where agents connect when nobody says it; another port of the host when something else has it. */
export const usualTinkListen = "127.0.0.1:42113";

const heading = "Tinkerbell:";
const option = prefixedOption("tink", heading);

/** The options of `slipway up` that are about Tinkerbell. None has an initial value, because a variable may say it. */
export const tinkOptions: readonly OptionSpec[] = [
  option("listen", "address", `HOST:PORT where agents connect, or off (default: ${usualTinkListen} if it is free)`),
  option("tls-cert", "file", "what agents are shown; read again when it changes"),
  option("tls-key", "file", "the key of that certificate"),
  option("client-ca", "file", "who signs the certificates of agents"),
  option("auth", "how", "token (default): the server's own or one in Secret default/tink-agent-tokens; or mtls"),
  prefixedFlag("tink", heading)("anonymous-auth", "serve agents without credentials, too"),
  option("scheduled-timeout", "time", "for an agent to begin what it was told of (default: 2m)"),
  option("cancelling-timeout", "time", "for an agent to confirm that it has stopped (default: 1m)"),
  option("reject-backoff-base", "time", "before a workflow that was rejected is tried again (default: 5s)"),
  option("reject-backoff-max", "time", "the most that this grows to (default: 5m)"),
  option("reject-backoff-jitter", "n", "how much of it chance decides (default: 0.2)"),
  option("interrupted-actions", "how", "what becomes of actions whose agent restarts: Rerun (default) or Fail"),
  option("max-action-attempts", "n", "starts of one action, interrupted ones included (default: 3)"),
  option("agent-lost-timeout", "time", "after which an agent that is away has failed; 0 is never (default: 0)"),
  option("poll-hold", "time", "how long agents that poll are kept waiting (default: 30s)"),
  option("keepalive-time", "time", "between pings on connections of agents (default: 30s)"),
  option("keepalive-timeout", "time", "for the answer to a ping (default: 10s)"),
  option("max-render-bytes", "bytes", "the most that a template may write (default: 262144)"),
];

/** What was said of Tinkerbell, or everything that is wrong with it. Nothing of the dialect is loaded. */
export function readTinkOptions(sources: OptionSources): Result<TinkerbellOptions, readonly string[]> {
  const reader = new OptionReader("tink", sources);
  const listen = reader.listen("listen", usualTinkListen);
  const tls = tlsOf(reader);
  const auth = authOf(reader, tls);
  const allowsAnonymous = reader.flag("anonymous-auth");
  if (allowsAnonymous && auth === "mtls")
    reader.problems.push("--tink-anonymous-auth and --tink-auth mtls exclude each other");
  const given: TinkerbellOptions = {
    ...(listen === undefined ? {} : { listen }),
    settings: settingsOf(reader),
    tls,
    auth,
    ...(allowsAnonymous ? { allowsAnonymous } : {}),
    pollHold: reader.duration("poll-hold"),
    keepalive: { time: reader.duration("keepalive-time"), timeout: reader.duration("keepalive-timeout") },
  };
  return reader.problems.length > 0 ? err(reader.problems) : ok(given);
}

const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;
const count = "a whole number above 0";

/** What is not said stays undefined: see `GivenSettings`. */
const settingsOf = (reader: OptionReader): NonNullable<TinkerbellOptions["settings"]> => ({
  scheduledTimeout: reader.duration("scheduled-timeout"),
  cancellingTimeout: reader.duration("cancelling-timeout"),
  rejectBackoff: {
    base: reader.duration("reject-backoff-base"),
    max: reader.duration("reject-backoff-max"),
    jitter: reader.number("reject-backoff-jitter", "a number from 0 to 1", (value) => value <= 1),
  },
  interruptedActions: reader.oneOf("interrupted-actions", ["Rerun", "Fail"]),
  maxActionAttempts: reader.number("max-action-attempts", count, isCount),
  agentLostTimeout: reader.duration("agent-lost-timeout", "zero"),
  maxRenderBytes: reader.number("max-render-bytes", count, isCount),
});

/** The files are read by who listens. */
function tlsOf(reader: OptionReader): TinkerbellOptions["tls"] {
  const [certificate, key, clientCa] = [reader.file("tls-cert"), reader.file("tls-key"), reader.file("client-ca")];
  if (certificate !== undefined && key !== undefined)
    return { certificate, key, ...(clientCa === undefined ? {} : { clientCa }) };
  if (certificate !== undefined || key !== undefined)
    reader.problems.push("expected both of --tink-tls-cert and --tink-tls-key, or none");
  else if (clientCa !== undefined) reader.problems.push("--tink-client-ca needs --tink-tls-cert and --tink-tls-key");
  return undefined;
}

/** Certificates of agents prove something only where somebody is known to sign them. */
function authOf(reader: OptionReader, tls: TinkerbellOptions["tls"]): TinkerbellOptions["auth"] {
  const mode = reader.oneOf("auth", ["token", "mtls"]);
  if (mode === "mtls" && tls?.clientCa === undefined)
    reader.problems.push("--tink-auth mtls needs --tink-tls-cert, --tink-tls-key and --tink-client-ca");
  return mode;
}

/** What `slipway up` and `slipway controllers` can be told of this dialect. */
export const serverOptions: ServerOptions = {
  specs: tinkOptions,
  read: (sources) => Promise.resolve(readTinkOptions(sources)),
  // Agents connect to servers of their own, of which there may be several: `slipway tink server`.
  forControllers: { part: "controller" } satisfies TinkerbellOptions,
};

/** Options of `slipway run` for documents of this dialect. */
export const runOptions: readonly OptionSpec[] = [
  { flags: "--hardware <name>", summary: "the Hardware that a Template is run for, or a file with it" },
  {
    flags: "--agent <id>",
    summary: `wait for this Tinkerbell agent instead of starting one (at ${usualTinkListen} or $SLIPWAY_TINK_LISTEN)`,
  },
];
export const runExamples = ["slipway run --ephemeral examples/tinkerbell/template.yaml --set device_1=local"];
