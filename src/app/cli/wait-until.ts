import { afterAwake, type Clock, isJsonObject, type Millis, parseDuration } from "#lib/base/index.ts";
import { compileJsonPathTemplate } from "#lib/json/index.ts";
import type { ApiClient, Ref } from "#kernel/kit/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import { UsageError } from "#kernel/command/index.ts";
import { Patience } from "./patience.ts";

export interface WaitOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** When absent, there is no limit. */
  readonly timeout?: Millis | undefined;
}

/**
 * Watches an object, which need not exist, until `holds`; false after the timeout. Continues through restarts of the
 * server. Rejects with errors of `holds`, refusals, and the signal's reason.
 */
export async function waitUntil(
  client: ApiClient,
  ref: Ref,
  holds: (object: Stored | undefined) => boolean,
  { clock, signal, timeout }: WaitOptions,
): Promise<boolean> {
  const over = new AbortController();
  const cancel = timeout === undefined ? () => undefined : afterAwake(clock, timeout, () => over.abort());
  const either = AbortSignal.any([signal, over.signal]);
  const patience = new Patience(clock, either);
  try {
    for (;;) {
      try {
        if (await watchOnce(client, ref, holds, either)) return true;
        patience.forgive();
      } catch (thrown) {
        await patience.after(thrown);
      }
      either.throwIfAborted();
    }
  } catch (thrown) {
    if (over.signal.aborted && !signal.aborted) return false;
    throw thrown;
  } finally {
    cancel();
  }
}

async function watchOnce(
  client: ApiClient,
  { type, namespace, name }: Ref,
  holds: (object: Stored | undefined) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const scope = { ...(namespace === undefined ? {} : { namespace }), fieldSelector: `metadata.name=${name}`, signal };
  const { items, metadata } = await client.list(type, scope);
  if (holds(items[0])) return true;
  for await (const event of client.watch(type, { ...scope, resourceVersion: metadata.resourceVersion }))
    if (event.type !== "BOOKMARK" && holds(event.type === "DELETED" ? undefined : event.object)) return true;
  return false;
}

export function durationOf(text: string): Millis {
  const read = parseDuration(text);
  if (!read.ok) throw new UsageError(`--timeout: ${read.error}`);
  return read.value;
}

/** Parses `--for`, as kubectl does. */
export function conditionOf(text: string): (object: Stored | undefined) => boolean {
  if (text === "delete") return (object) => object === undefined;
  if (text === "create") return (object) => object !== undefined;
  const [, type, wanted = "true"] = /^condition=([^=]+)(?:=(.*))?$/.exec(text) ?? [];
  if (type !== undefined) return (object) => hasCondition(object, type.toLowerCase(), wanted.toLowerCase());
  const [, path, value] = /^jsonpath=(\{.*\}|[^={]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (path === undefined)
    throw new UsageError(
      `--for: "${text}" is not a condition`,
      "expected condition=NAME, jsonpath={PATH}=VALUE, create or delete",
    );
  const template = compileJsonPathTemplate(path.startsWith("{") ? path : `{${path.startsWith(".") ? "" : "."}${path}}`);
  if (!template.ok) throw new UsageError(`--for: the jsonpath is not valid: ${template.error.message}`);
  const bare = value?.replace(/^(["'])(.*)\1$/s, "$2");
  return (object) => {
    const found = object === undefined ? undefined : template.value.render(asJson(object));
    const shown = found?.ok === true ? found.value : "";
    return bare === undefined ? shown !== "" : shown === bare;
  };
}

/** Ignores conditions of earlier generations. */
function hasCondition(object: Stored | undefined, type: string, wanted: string): boolean {
  const status = object?.status;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  const generation = object?.metadata.generation ?? 0;
  return (Array.isArray(conditions) ? conditions.filter(isJsonObject) : []).some(
    ({ type: name, status: value, observedGeneration: seen }) =>
      typeof name === "string" &&
      name.toLowerCase() === type &&
      typeof value === "string" &&
      value.toLowerCase() === wanted &&
      !(typeof seen === "number" && seen < generation),
  );
}
