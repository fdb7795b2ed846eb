import { err, type Millis, ok, parseDuration, type Result } from "#lib/base/index.ts";
import type { RegistryLogin } from "#kernel/runtimes/index.ts";
import type { PullPolicy } from "./docker-runtime.ts";

/** The settings of an agent, checked. Paths are absolute. */
export interface AgentSettings {
  readonly id: string;
  /** `host:port`; if absent, this user's server on this machine. */
  readonly server?: string;
  /** Plaintext without. Files are read again for each connection. */
  readonly tls?: {
    readonly ca?: string;
    readonly identity?: { readonly certificate: string; readonly key: string };
    /** False accepts any certificate of the server. */
    readonly isVerified: boolean;
  };
  /** File of the token to present; if absent, the one noted by this user's server. */
  readonly tokenFile?: string;
  readonly runtime: "docker" | "host";
  readonly directory: string;
  readonly pull: PullPolicy;
  readonly isPrivileged: boolean;
  readonly stopGrace: Millis;
  readonly registry?: RegistryLogin;
  readonly killsOnExit: boolean;
  readonly logLevel: "error" | "warn" | "info" | "debug";
}

export interface OptionRow {
  /** Placeholder in the help; absent for flags without a value. */
  readonly value?: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** Variables that configure released agents, in their order: this agent can replace one. */
  readonly variables?: readonly string[];
}

/** Options of an agent: the flag counts, then `SLIPWAY_AGENT_...`, then variables of released agents. */
export const agentOptions = {
  server: {
    value: "host:port",
    summary: "server to connect to (default: your own on this machine)",
    variables: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
  },
  id: {
    value: "id",
    summary: "name of this machine in templates (default: MAC address of the default route)",
    variables: ["AGENT_ID", "WORKER_ID", "ID"],
  },
  runtime: {
    value: "name",
    summary: "run actions in containers (docker, default) or as processes (host, for trials)",
    choices: ["docker", "host"],
  },
  tls: { summary: "connect with TLS", variables: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"] },
  "tls-ca": { value: "file", summary: "CA that signs the server's certificate (default: those of Node.js)" },
  "tls-insecure": {
    summary: "accept any certificate of the server",
    variables: ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
  },
  cert: { value: "file", summary: "client certificate to present to the server" },
  key: { value: "file", summary: "private key of that certificate" },
  "token-file": { value: "file", summary: "file with the token for the server (default: your own server's)" },
  "state-dir": {
    value: "folder",
    summary: "journal and logs of actions (default: agent in $SLIPWAY_DATA_DIR or ~/.slipway)",
  },
  pull: {
    value: "when",
    summary: "when to pull images: always (default), missing or never",
    choices: ["always", "missing", "never"],
  },
  privileged: { value: "bool", summary: "run privileged containers (default: true)", choices: ["true", "false"] },
  "stop-grace": { value: "duration", summary: "time for a stopped action to end by itself (default: 10s)" },
  registry: { value: "host", summary: "registry to log in to", variables: ["DOCKER_REGISTRY"] },
  "registry-user": { value: "name", summary: "user to log in to the registry", variables: ["REGISTRY_USERNAME"] },
  "registry-password-file": { value: "file", summary: "file with the registry password" },
  "kill-on-exit": { summary: "end the running action with the agent; by default it goes on" },
  "log-level": {
    value: "level",
    summary: "log level: error, warn, info (default) or debug",
    choices: ["error", "warn", "info", "debug"],
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

export type AgentOption = keyof typeof agentOptions;

const rowOf = (option: AgentOption): OptionRow => agentOptions[option];

/** `tls-ca` is `SLIPWAY_AGENT_TLS_CA`. */
export const variableOf = (option: AgentOption): string => `SLIPWAY_AGENT_${option.toUpperCase().replaceAll("-", "_")}`;

export interface Said {
  /** A flag without a value is `true`. */
  readonly flag: (option: AgentOption) => string | boolean | undefined;
  readonly variable: (name: string) => string | undefined;
}

export interface Defaults {
  readonly id: string | undefined;
  readonly directory: string;
  readonly resolve: (path: string) => string;
  readonly readText: (path: string) => Promise<string>;
}

export interface OptionProblem {
  readonly message: string;
  readonly hint?: string;
}

class Mistake extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** The settings, or the first problem. Rejects when the password file cannot be read. */
export async function readAgentOptions(said: Said, defaults: Defaults): Promise<Result<AgentSettings, OptionProblem>> {
  try {
    const text = (option: AgentOption) => textOf(said, option);
    const is = (option: AgentOption, initial = false) => truthOf(option, text(option), initial);
    const file = (option: AgentOption) => {
      const path = text(option);
      return path === undefined ? undefined : defaults.resolve(path);
    };
    const tls = tlsOf(is, file);
    const registry = await registryOf(said, text, file, defaults);
    const tokenFile = file("token-file");
    const server = text("server");
    return ok({
      id: checkedId(text("id") ?? defaults.id),
      ...(server === undefined ? {} : { server: checkedServer(server) }),
      runtime: oneOf("runtime", text("runtime") ?? "docker", ["docker", "host"] as const),
      directory: file("state-dir") ?? defaults.directory,
      pull: oneOf<PullPolicy>("pull", text("pull") ?? "always", ["always", "missing", "never"]),
      isPrivileged: is("privileged", true),
      stopGrace: graceOf(text("stop-grace") ?? "10s"),
      killsOnExit: is("kill-on-exit"),
      logLevel: oneOf("log-level", text("log-level") ?? "info", ["error", "warn", "info", "debug"] as const),
      ...(tls === undefined ? {} : { tls }),
      ...(registry === undefined ? {} : { registry }),
      ...(tokenFile === undefined ? {} : { tokenFile }),
    });
  } catch (thrown) {
    if (!(thrown instanceof Mistake)) throw thrown;
    return err({ message: thrown.message, ...(thrown.hint === undefined ? {} : { hint: thrown.hint }) });
  }
}

/** An empty value counts as unset. */
function textOf({ flag, variable }: Said, option: AgentOption): string | undefined {
  const given = flag(option);
  if (given !== undefined) return String(given);
  for (const name of [variableOf(option), ...(rowOf(option).variables ?? [])]) {
    const value = variable(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** In Go's syntax, as released agents read their variables. */
function truthOf(option: AgentOption, text: string | undefined, initial: boolean): boolean {
  if (text === undefined) return initial;
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (/^(?:0|f|false)$/i.test(text)) return false;
  throw new Mistake(`expected true or false for --${option}, found ${JSON.stringify(text)}`);
}

/** Checked here too, because a variable may set it. */
function oneOf<T extends string>(option: AgentOption, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new Mistake(`expected ${choices.join(" or ")} for --${option}, found ${JSON.stringify(text)}`);
}

/** The limit of servers. */
const longestId = 256;

/** Any name that a template may use for its worker, mostly a MAC address. */
function checkedId(id: string | undefined): string {
  if (id === undefined)
    throw new Mistake(
      "this agent has no id: the machine has no default route whose interface has a MAC address",
      "name it with --id, as the worker of a template, or the agentID of a hardware, does",
    );
  if (id === "" || /[\0-\x1f\x7f]/.test(id) || Buffer.byteLength(id) > longestId)
    throw new Mistake(`expected 1 to ${longestId} bytes without control characters for --id`);
  return id;
}

/** The port is required, because released servers and this one have different defaults. */
function checkedServer(server: string): string {
  const example = "such as provision.example:42113";
  const [, port = ""] = /^(?:\[[0-9a-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/i.exec(server) ?? [];
  if (port !== "" && Number(port) > 0 && Number(port) <= 65_535) return server;
  throw new Mistake(`expected HOST:PORT for --server, ${example}, found ${JSON.stringify(server)}`);
}

function graceOf(text: string): number {
  const read = parseDuration(text);
  if (read.ok && read.value >= 0) return read.value;
  throw new Mistake(`--stop-grace: ${read.ok ? `expected no negative duration, found ${text}` : read.error}`);
}

/** A CA or client certificate implies `--tls`; `--tls-insecure` alone does not, as in released agents. */
function tlsOf(
  is: (option: AgentOption) => boolean,
  file: (option: AgentOption) => string | undefined,
): AgentSettings["tls"] | undefined {
  const [ca, certificate, key] = [file("tls-ca"), file("cert"), file("key")];
  if ((certificate === undefined) !== (key === undefined))
    throw new Mistake("expected both of --cert and --key, or none");
  if (!is("tls") && ca === undefined && certificate === undefined) return undefined;
  return {
    isVerified: !is("tls-insecure"),
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined || key === undefined ? {} : { identity: { certificate, key } }),
  };
}

/** The password has no flag, because other users can read command lines; released agents have it in a variable. */
async function registryOf(
  { variable }: Said,
  text: (option: AgentOption) => string | undefined,
  file: (option: AgentOption) => string | undefined,
  { readText }: Defaults,
): Promise<AgentSettings["registry"] | undefined> {
  const [server, username, path] = [text("registry"), text("registry-user"), file("registry-password-file")];
  const password = path === undefined ? variable("REGISTRY_PASSWORD") : (await readText(path)).replace(/\r?\n$/, "");
  if (username === undefined && password === undefined) return undefined;
  if (server === undefined || username === undefined || password === undefined)
    throw new Mistake("expected all of --registry, --registry-user and --registry-password-file, or only --registry");
  return { server, username, password };
}
