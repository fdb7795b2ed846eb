import { err, ok, parseDuration, type Result } from "#lib/base/index.ts";
import type { PullPolicy } from "./docker-runtime.ts";
import type { AgentSettings } from "./open-agent.ts";

// What a person may say of an agent, and where: as a flag, as a variable of its own, or as a variable by which released agents are configured,
// so that ours can take their place. The first that is set counts.

/** Everything that can be said, by the name of its flag, and the other variables that say it; those of released agents in their order. */
export const agentOptions = {
  id: ["AGENT_ID", "WORKER_ID", "ID"],
  server: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
  runtime: [],
  tls: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"],
  "tls-ca": [],
  "tls-insecure": ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
  cert: [],
  key: [],
  "token-file": [],
  "state-dir": [],
  pull: [],
  privileged: [],
  "stop-grace": [],
  registry: ["DOCKER_REGISTRY"],
  "registry-user": ["REGISTRY_USERNAME"],
  "registry-password-file": [],
  "kill-on-exit": [],
  "log-level": [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type AgentOption = keyof typeof agentOptions;

/** `tls-ca` is `SLIPWAY_AGENT_TLS_CA`. */
export const variableOf = (option: AgentOption): string => `SLIPWAY_AGENT_${option.toUpperCase().replaceAll("-", "_")}`;

/** Everything that was said, as it was said. */
export interface Said {
  /** Of the command line; a flag without a value is `true`. */
  readonly flag: (option: AgentOption) => string | boolean | undefined;
  /** Answers undefined for what is unset or empty. */
  readonly variable: (name: string) => string | undefined;
}

/** What stands for what was not said, and how files are found. */
export interface Defaults {
  /** Undefined where the machine has none. */
  readonly id: string | undefined;
  readonly directory: string;
  /** A path as it was typed, made absolute. */
  readonly resolve: (path: string) => string;
  readonly readText: (path: string) => Promise<string>;
}

/** What is wrong with an option, for people, and what can be done. */
export interface OptionProblem {
  readonly message: string;
  readonly hint?: string;
}

/** Thrown within this file, and made the answer at its edge: a mistake ends the reading wherever it is found. */
class Mistake extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Settings, or the first thing that is wrong with what was said. Rejects when a file of a password cannot be read. */
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

/** The flag, then our own variable, then those of others in their order. What is set to nothing counts as not set. */
function textOf({ flag, variable }: Said, option: AgentOption): string | undefined {
  const given = flag(option);
  if (given !== undefined) return String(given);
  for (const name of [variableOf(option), ...agentOptions[option]]) {
    const value = variable(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** As Go reads booleans: the variables of released agents are read so. */
function truthOf(option: AgentOption, text: string | undefined, initial: boolean): boolean {
  if (text === undefined) return initial;
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (/^(?:0|f|false)$/i.test(text)) return false;
  throw new Mistake(`expected true or false for --${option}, found ${JSON.stringify(text)}`);
}

/** Choices are checked here and not by the command line alone, because variables say them as well. */
function oneOf<T extends string>(option: AgentOption, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new Mistake(`expected ${choices.join(" or ")} for --${option}, found ${JSON.stringify(text)}`);
}

/** Bytes of an id that servers take. */
const longestId = 256;

/** An id is opaque: mostly a MAC address, but whatever a template names as its worker. Servers refuse what is refused here. */
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

/** A name, an address, or an IPv6 address in brackets; always with a port, because released servers and ours differ in theirs. */
function checkedServer(server: string): string {
  const example = "such as provision.example:42113";
  const [, port = ""] = /^(?:\[[0-9a-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/i.exec(server) ?? [];
  if (port !== "" && Number(port) > 0 && Number(port) <= 65_535) return server;
  throw new Mistake(`expected HOST:PORT for --server, ${example}, found ${JSON.stringify(server)}`);
}

/** `0s` is allowed: then an action is killed without being asked. */
function graceOf(text: string): number {
  const read = parseDuration(text);
  if (read.ok && read.value >= 0) return read.value;
  throw new Mistake(`--stop-grace: ${read.ok ? `expected no negative duration, found ${text}` : read.error}`);
}

/**
 * Naming an authority or a certificate of one's own asks for TLS, too: who has done so would not want to be spoken to in the clear
 * because of a flag that was forgotten. Not verifying alone asks for nothing, as in released agents.
 */
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

/** Released agents have the password itself in a variable. On a command line everybody on the machine could read it. */
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
