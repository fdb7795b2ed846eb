import { type Clock, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Answer, Path, RebarClient } from "../agent/client.ts";
import type { Connection } from "../agent/connection.ts";
import type { Flag, Parsed } from "./arguments.ts";
import type { CollectionRow } from "./collections.ts";

/** A verb of the compatibility command, for example `machines meta get`. */
export interface Verb {
  readonly words: readonly string[];
  /** Its arguments, as the original shows them. */
  readonly usage: string;
  readonly summary: string;
  /** How many arguments there may be, and what is said otherwise. */
  readonly arity: Arity;
  readonly flags: readonly Flag[];
  run(call: Call): Promise<void>;
}

export interface Arity {
  readonly least: number;
  readonly most: number;
  /** After the usage; a text that begins with `!` stands alone. */
  readonly complaint: string;
}

/** What a verb does for one collection, by its words after that. */
export type Runs = Readonly<Record<string, (call: Call, row: CollectionRow) => Promise<void> | void>>;

/** What a verb has to work with. Requests reject with `Refused`. */
export interface Call {
  readonly args: readonly string[];
  readonly flags: Parsed["flags"];
  /** Of the flags. */
  readonly query: Query;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The object of `--ref`. */
  readonly reference: JsonValue | undefined;
  /** Absolute; the base of relative paths. */
  readonly directory: string;
  readonly client: () => Promise<RebarClient>;
  readonly surroundings: () => Promise<VerbSurroundings>;
  get(path: Path, query?: Query): Promise<JsonValue>;
  head(path: Path, query?: Query): Promise<Answer["headers"]>;
  /** With the query of the flags. Resolves with the body of the answer; null if there is none. */
  send(method: string, path: Path, body?: JsonValue): Promise<JsonValue>;
  /** In the chosen format. */
  print(value: JsonValue): void;
  write(text: string | Uint8Array): void;
  /** YAML or JSON of a file, of standard input (`-`), or the argument itself. */
  read(source: string): Promise<JsonValue>;
  /** The same as it is. */
  readBytes(source: string): Promise<Uint8Array>;
}

/** For verbs that start something of their own. */
export interface VerbSurroundings {
  readonly connection: Connection;
  readonly variable: (name: string) => string | undefined;
  /** All variables of this process. */
  readonly environment: Readonly<Record<string, string>>;
}

export type Query = readonly (readonly [string, string])[];

/** Printed after `Error: `; the command exits with 1. */
export class CliError extends Error {
  override readonly name = "CliError";
}

export const textFlag = (call: Call, name: string): string | undefined => {
  const value = call.flags.get(name);
  return typeof value === "string" ? value : undefined;
};

/** The object of `--ref`, else the server's. */
export async function objectOrReference(call: Call, collection: string, key: string): Promise<JsonObject> {
  return objectIn(call.reference ?? (await call.get([collection, key])));
}

/** Throws a `CliError` for anything else. */
export function objectIn(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw new CliError("expected an object");
}

/** `NAME VALUE NAME VALUE ...`; the caller has counted. */
export const pairsOf = (words: readonly string[]): readonly (readonly [string, string])[] =>
  words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] ?? ""] as const] : []));
