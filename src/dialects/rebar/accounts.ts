import type { JsonValue } from "#lib/base/index.ts";
import type { ParamOwner } from "./params/lookup.ts";
import type { Write } from "./store.ts";

/** What is kept in Secrets. */
export interface Accounts {
  /** Signs tokens; at least 32 bytes. It changes, which revokes all tokens: read it anew for each use. */
  readonly tokenKey: Uint8Array;
  readonly passwords: {
    /** Takes as long for users that do not exist. */
    check(user: string, password: string): Promise<boolean>;
    /** Also changes the user's `Secret`, which revokes the user's tokens. */
    set(user: string, password: string, write: Write): Promise<void>;
  };
}

export type SecureOwner = ParamOwner["collection"];

/** Sealed values of secure params (NaCl boxes). */
export interface SecureParams {
  /** 32 bytes in base64, made on first use. */
  publicKey(owner: SecureOwner, key: string): Promise<string>;
  /** `owner` is a machine's UUID, or the name of another owner. Rejects if the value was not sealed for it. */
  open(owner: string, sealed: JsonValue): Promise<JsonValue>;
}
