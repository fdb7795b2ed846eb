import { createHash, randomBytes } from "node:crypto";
import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { listAt, textAt } from "#kernel/specs/index.ts";
import type { Store } from "../store/store.ts";
import { authenticatedGroup, type Identity } from "./identity.ts";

// Tokens of people and agents that are good until they are taken back. The store has their hashes only.

type System = Pick<Store, "system">;
const recordKey = "authz/tokens";
/** Each is looked at when one is made; for more people there are certificates. */
const maxTokens = 1000;

/** A token as the store knows it. */
interface Row {
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
  readonly user: string;
  readonly groups: readonly string[];
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

/** The tokens of a store. Reads again when the record is another one, so several readers agree. */
export class StaticTokens {
  readonly #store: System;
  #record: Buffer | undefined;
  #byHash: ReadonlyMap<string, Identity> = new Map();

  constructor(store: System) {
    this.#store = store;
  }

  /** Whose it is. Found by its hash: how long the search takes tells about the hash and nothing about the token. */
  find(token: string): Identity | undefined {
    const record = this.#store.system.get(recordKey);
    if (record === undefined) return undefined;
    if (this.#record === undefined || !this.#record.equals(record)) {
      this.#record = record;
      this.#byHash = new Map(readRows(record).map((row) => [row.hash, identityOf(row)]));
    }
    return this.#byHash.get(hashOf(token));
  }
}

const identityOf = ({ user, groups }: Row): Identity => ({
  user,
  groups: [...new Set([...groups, authenticatedGroup])],
});

/** A new token of 256 random bits for a user and his groups; told once and never again. Durable when resolved. */
export async function createStaticToken(store: System, user: string, groups: readonly string[]): Promise<string> {
  const rows = readRows(store.system.get(recordKey));
  if (rows.length >= maxTokens) throw new Error(`there are ${rows.length} tokens already`);
  const token = randomBytes(32).toString("base64url");
  await writeRows(store, [...rows, { hash: hashOf(token), user, groups }]);
  return token;
}

/** Takes back all tokens of a user; the number tells how many there were. Requests that come later are refused. */
export async function revokeStaticTokens(store: System, user: string): Promise<number> {
  const rows = readRows(store.system.get(recordKey));
  const left = rows.filter((row) => row.user !== user);
  if (left.length < rows.length) await writeRows(store, left);
  return rows.length - left.length;
}

const writeRows = (store: System, rows: readonly Row[]): Promise<void> =>
  store.system.put(recordKey, Buffer.from(JSON.stringify({ rows })));

/** What is no row is nobody's. */
function readRows(record: Buffer | undefined): readonly Row[] {
  if (record === undefined) return [];
  const value: unknown = JSON.parse(record.toString("utf8"));
  if (!isJsonObject(value)) return [];
  return listAt(value, "rows").flatMap((row: JsonValue) => {
    const hash = textAt(row, "hash");
    const user = textAt(row, "user");
    const groups = listAt(row, "groups").filter((group) => typeof group === "string");
    return hash === undefined || user === undefined ? [] : [{ hash, user, groups }];
  });
}
