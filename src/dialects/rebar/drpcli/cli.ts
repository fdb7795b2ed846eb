import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Clock, isJsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import { type Connection, openClient, readConnection } from "../agent/connection.ts";
import type { RebarClient } from "../agent/client.ts";
import { Refused } from "../failure.ts";
import { type Flag, globalFlags, type Parsed, parseArguments } from "./arguments.ts";
import { readDocument } from "./bundle.ts";
import { formatted, type OutputStyle, refusalText } from "./output.ts";
import { type Call, CliError, type Query, type Verb } from "./verb.ts";
import { verbs } from "./verbs/table.ts";

export interface CliSurroundings {
  readonly variable: (name: string) => string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute; the base of relative paths. */
  readonly directory: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly readStdin: () => Promise<Uint8Array>;
  readonly out: (text: string | Uint8Array) => void;
  readonly err: (text: string) => void;
}

/** Runs a command line of the original's `drpcli`. Resolves with the exit code: 0 or 1. */
export async function runDrpcli(words: readonly string[], around: CliSurroundings): Promise<number> {
  const fail = (message: string, usage = ""): number => {
    around.err(`Error: ${message}\n${usage}`);
    return 1;
  };
  const loose = parseArguments(words, allFlags);
  if (!loose.ok) return fail(loose.error, "Run 'drpcli --help' for usage.\n");
  const verb = verbOf(loose.value.words);
  if (verb === undefined) return withoutVerb(loose.value.words, around, fail);
  const parsed = parseArguments(words, [...globalFlags, ...verb.flags]);
  if (!parsed.ok) return fail(parsed.error, usageOf(verb));
  if (parsed.value.flags.has("help")) {
    around.out(`${verb.summary}\n\n${usageOf(verb)}`);
    return 0;
  }
  const args = parsed.value.words.slice(verb.words.length);
  if (args.length < verb.arity.least || args.length > verb.arity.most)
    return fail(complaintOf(verb, args.length), usageOf(verb));
  const session = new Session(parsed.value, verb, around);
  try {
    await verb.run(await session.call(args));
    return session.hasErrors ? fail(session.errors) : 0;
  } catch (thrown) {
    if (around.signal.aborted) return 1;
    return fail(thrown instanceof Refused ? refusalText(thrown) : messageOf(thrown));
  } finally {
    session.close();
  }
}

const allFlags: readonly Flag[] = [...globalFlags, ...verbs.flatMap(({ flags }) => flags)];

/** The verb with the most words. */
function verbOf(words: readonly string[]): Verb | undefined {
  for (const length of [3, 2, 1]) {
    const name = words.slice(0, length).join(" ");
    const found = words.length < length ? undefined : verbs.find((verb) => verb.words.join(" ") === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withoutVerb(
  words: readonly string[],
  { out }: CliSurroundings,
  fail: (message: string, usage?: string) => number,
): number {
  const [group] = words;
  const groups = [...new Set(verbs.map(({ words: [first = ""] }) => first))].toSorted();
  if (group !== undefined && !groups.includes(group)) {
    const hint = didYouMean(group, groups);
    const suggestion =
      hint === undefined ? "" : `\nDid you mean this?\n\t${groups.find((name) => hint.includes(name)) ?? ""}\n\n`;
    return fail(
      `unknown command ${JSON.stringify(group)} for "drpcli"`,
      `${suggestion}Run 'drpcli --help' for usage.\n`,
    );
  }
  const below = words.length > 1 ? words.slice(0, 2).join(" ") : group;
  const shown = verbs.filter((verb) => below !== undefined && verb.words.join(" ").startsWith(`${below} `));
  const own = shown.length > 0 ? shown : verbs.filter((verb) => verb.words[0] === group);
  const lines = group === undefined ? groups.map((name) => `  ${name}\n`) : own.map(lineOf).toSorted();
  out(`Usage:\n  drpcli ${group === undefined ? "" : `${group} `}[command]\n\nAvailable Commands:\n${lines.join("")}`);
  out(`\nGlobal Flags:\n${flagLines(globalFlags)}`);
  return 0;
}

const lineOf = ({ words, summary }: Verb): string => `  ${words.slice(1).join(" ").padEnd(16)}${summary}\n`;
const lineOfUse = ({ words, usage }: Verb): string => `drpcli ${[...words, usage].join(" ").trim()} [flags]`;

const usageOf = (verb: Verb): string =>
  `Usage:\n  ${lineOfUse(verb)}\n\nFlags:\n${flagLines(verb.flags)}\nGlobal Flags:\n${flagLines(globalFlags)}`;

const flagLines = (flags: readonly Flag[]): string =>
  flags
    .filter(({ hidden }) => hidden !== true)
    .map(({ name, letter, value, summary }) => {
      const long = `--${name}${value === undefined ? "" : ` ${value}`}`;
      return `  ${letter === undefined ? "   " : `-${letter},`} ${long.padEnd(24)} ${summary}\n`;
    })
    .join("");

function complaintOf(verb: Verb, count: number): string {
  const { complaint } = verb.arity;
  if (complaint.startsWith("!")) return complaint.slice(1).replace("not N", `not ${count}`);
  return complaint.startsWith(":") ? `${lineOfUse(verb)}${complaint}` : `${lineOfUse(verb)} ${complaint}`;
}

class Session {
  readonly #parsed: Parsed;
  readonly #verb: Verb;
  readonly #around: CliSurroundings;
  readonly #style: OutputStyle;
  #opened: Promise<RebarClient> | undefined;
  #client: RebarClient | undefined;
  #errors: readonly string[] = [];

  constructor(parsed: Parsed, verb: Verb, around: CliSurroundings) {
    this.#parsed = parsed;
    this.#verb = verb;
    this.#around = around;
    const { variable } = around;
    const text = (flag: string, name: string, usual: string) => this.#text(flag) ?? variable(name) ?? usual;
    const longest = Number(text("truncate-length", "RS_TRUNCATE_LENGTH", "40"));
    this.#style = {
      format: text("format", "RS_FORMAT", "json"),
      fields: text("print-fields", "RS_PRINT_FIELDS", "")
        .split(",")
        .filter((field) => field !== ""),
      hasHeader: !parsed.flags.has("no-header") && variable("RS_NO_HEADER") !== "true",
      longestCell: longest > 0 ? longest : 40,
    };
  }

  /** With `--exit-early`: an object that was printed has errors. */
  get hasErrors(): boolean {
    const isAsked =
      this.#parsed.flags.has("exit-early") || this.#around.variable("RS_OBJECT_ERRORS_ARE_FATAL") === "true";
    return isAsked && this.#errors.length > 0;
  }

  get errors(): string {
    return this.#errors.join("\n  ");
  }

  close(): void {
    this.#client?.close();
  }

  async call(args: readonly string[]): Promise<Call> {
    const { clock, directory, environment, signal, variable } = this.#around;
    const { flags } = this.#parsed;
    if (!["json", "yaml", "text", "table"].includes(this.#style.format))
      throw new CliError(`Unknown pretty format ${this.#style.format}`);
    if (this.#text("url-proxy") !== undefined) throw new CliError("--url-proxy is not supported");
    const client = () => (this.#opened ??= this.#open());
    const read = (source: string) => this.#read(source);
    const reference = this.#text("ref");
    const query: Query = this.#verb.flags.flatMap((flag) => {
      const value = flags.get(flag.name);
      return value === undefined || flag.query === undefined ? [] : [[flag.query, String(value)] as const];
    });
    const sent: Query = flags.has("force") ? [...query, ["force", "true"]] : query;
    return {
      args,
      flags,
      query,
      signal,
      clock,
      directory,
      reference: reference === undefined || reference === "" ? undefined : await read(reference),
      client,
      surroundings: async () => ({ connection: await this.#connection(), variable, environment }),
      get: async (path, asked = []) => (await client()).get(path, signal, asked),
      head: async (path, asked = []) => (await (await client()).call("HEAD", path, { query: asked, signal })).headers,
      async send(method, path, body) {
        const request = { query: sent, signal, ...(body === undefined ? {} : { body }) };
        return (await (await client()).call(method, path, request)).json;
      },
      print: (value) => this.#print(value),
      write: (text) => this.#around.out(text),
      read,
      readBytes: (source) => this.#readBytes(source),
    };
  }

  #text(flag: string): string | undefined {
    const value = this.#parsed.flags.get(flag);
    return typeof value === "string" ? value : undefined;
  }

  #print(value: JsonValue): void {
    if (isJsonObject(value) && Array.isArray(value["Errors"]))
      this.#errors = value["Errors"].filter((error) => typeof error === "string");
    this.#around.out(formatted(value, this.#style));
  }

  async #connection(): Promise<Connection> {
    const { variable, directory } = this.#around;
    const names = ["endpoint", "token", "username", "password", "ca", "fingerprint"] as const;
    const given = names.flatMap((name) => {
      const value = this.#text(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const read = await readConnection(Object.fromEntries(given), variable, (file) =>
      readFile(resolve(directory, file), "utf8"),
    );
    if (!read.ok) throw new CliError(read.error);
    const { credentials } = read.value;
    const isPlain = this.#parsed.flags.has("no-token") && "user" in credentials;
    return isPlain ? { ...read.value, credentials: { ...credentials, usesTokens: false } } : read.value;
  }

  async #open(): Promise<RebarClient> {
    const connection = await this.#connection();
    try {
      this.#client = await openClient(connection, this.#around.clock, this.#around.signal);
      return this.#client;
    } catch (thrown) {
      const words = thrown instanceof Refused ? refusalText(thrown) : messageOf(thrown);
      throw new CliError(`Error creating Session: ${words}`);
    }
  }

  async #read(source: string): Promise<JsonValue> {
    const text = Buffer.from(await this.#readBytes(source)).toString("utf8");
    return readDocument(text, source === "-" ? "standard input" : "the given text");
  }

  async #readBytes(source: string): Promise<Uint8Array> {
    if (source === "-") return await this.#around.readStdin();
    if (/^(?:https?:\/\/|catalog:)\S+$/.test(source))
      throw new CliError(`${source}: downloads are not supported; download the file first`);
    const path = resolve(this.#around.directory, source);
    // A text with a NUL byte, or longer than a path, is no file.
    const found = source === "" ? undefined : await stat(path).catch(() => undefined);
    return found?.isFile() === true ? await readFile(path) : Buffer.from(source);
  }
}
