import { readFile } from "node:fs/promises";
import { type Clock, codeOf, type Millis } from "#lib/base/index.ts";
import type { Credential, CredentialSource } from "./client-config.ts";
import { kubeconfigInvalid } from "./errors.ts";

/** Kubernetes replaces mounted tokens well before they expire. */
const rereadAfter: Millis = 60_000;

/** A token in a file that others update. Read at most once a minute, and after a refusal unless just read. */
export function tokenFileCredentials(file: string, clock: Clock, rest: Credential = {}): CredentialSource {
  let read: { readonly at: Millis; readonly credential: Credential } | undefined;
  return {
    async get() {
      const now = clock.monotonic();
      if (read === undefined || now - read.at >= rereadAfter)
        read = { at: now, credential: { ...rest, token: await readToken(file) } };
      return read.credential;
    },
    refused() {
      const wasFresh = read === undefined || read.at === clock.monotonic();
      read = undefined;
      return !wasFresh;
    },
  };
}

/** An empty token is a mistake, not anonymous access. */
async function readToken(file: string): Promise<string> {
  let token: string;
  try {
    token = (await readFile(file, "utf8")).trim();
  } catch (thrown) {
    throw kubeconfigInvalid(`the token file ${file} cannot be read (${codeOf(thrown)})`);
  }
  if (token === "") throw kubeconfigInvalid(`the token file ${file} is empty`);
  return token;
}
