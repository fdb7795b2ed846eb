import { textAt } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";

/** What a Secret has under a key; empty counts as absent. */
export function secretText(secret: KubeObject | undefined, key: string): string | undefined {
  const encoded = secret === undefined ? undefined : textAt(asJson(secret), "data", key);
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
}

/** Texts as the `data` of a Secret. */
export const secretData = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
