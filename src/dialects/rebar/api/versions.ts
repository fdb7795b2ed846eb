import { randomBytes } from "node:crypto";
import { deferred, type Millis, onAbort, parseDuration } from "#lib/base/index.ts";
import type { AnyObject, Collection } from "../objects.ts";
import type { Call } from "./call.ts";
import type { ApiParts } from "./parts.ts";

/** Tags of another run of the server never match. */
const run = randomBytes(6).toString("hex");
const versions = new WeakMap<AnyObject, string>();
let latest = 0;

/** Changed objects are new objects, so each has a version of its own. */
export function tagOf(object: AnyObject): string {
  const known = versions.get(object);
  if (known !== undefined) return known;
  const tag = `"${run}-${(++latest).toString(36)}"`;
  versions.set(object, tag);
  return tag;
}

const longestWait: Millis = 600_000;

/**
 * For a client that knows this version: the object once it has changed or `Prefer: wait=DURATION` is over, undefined
 * if it is gone then.
 */
export async function awaitChange(
  { store, keptOpen, clock }: Pick<ApiParts, "store" | "keptOpen" | "clock">,
  { caller, request, response }: Call,
  collection: Collection,
  key: string,
  known: AnyObject,
): Promise<AnyObject | undefined> {
  const waitMs = waitOf(request.headers["prefer"]);
  const now = () => store.world.get(collection, key);
  if (waitMs === 0 || now() !== known) return now();
  const release = keptOpen.take(caller.principal);
  const over = deferred<void>();
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const leave = [
    clock.after(waitMs, () => over.resolve()),
    store.listen(() => {
      if (now() !== known) over.resolve();
    }),
    onAbort(gone.signal, () => over.resolve()),
  ];
  await over.promise;
  for (const stop of leave) stop();
  release();
  return now();
}

/** RFC 7240: seconds; the original's clients send durations. */
function waitOf(header: string | readonly string[] | undefined): Millis {
  const [, text = ""] = /(?:^|[,; ])wait=([^,; ]+)/.exec(String(header ?? "")) ?? [];
  const duration = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  return duration.ok ? Math.min(Math.max(duration.value, 0), longestWait) : 0;
}
