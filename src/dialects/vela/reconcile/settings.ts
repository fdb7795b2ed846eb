import type { Millis } from "#lib/base/index.ts";
import { parseTimeout } from "../durations.ts";
import type { Application } from "../kinds.ts";
import type { Settings } from "../settings.ts";

const shortestInterval: Millis = 10_000;

/** `app.oam.dev/reconcile-interval`, at least 10 s; otherwise the server's. */
export function resyncOf({ metadata }: Application, { resync }: Settings): Millis {
  const text = metadata.annotations?.["app.oam.dev/reconcile-interval"];
  const given = text === undefined ? undefined : parseTimeout(text);
  return given?.ok === true ? Math.max(shortestInterval, given.value) : resync;
}
