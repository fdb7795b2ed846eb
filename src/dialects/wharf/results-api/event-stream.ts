import type { Clock, Millis } from "#lib/base/index.ts";
import type { LogPage } from "../log-store/read-page.ts";
import { lineJson } from "./line-json.ts";

/** Keeps proxies and browsers from closing idle connections. */
const pingMs: Millis = 15_000;

/** Followers share pages and their encoding. */
const encoded = new WeakMap<LogPage, Buffer>();

function eventsOf(buildId: number, page: LogPage): Buffer {
  const known = encoded.get(page);
  if (known !== undefined) return known;
  let text = "";
  for (const line of page.lines)
    text += `id: ${line.logId}\nevent: message\ndata: ${JSON.stringify(lineJson(buildId, line))}\n\n`;
  const bytes = Buffer.from(text);
  encoded.set(page, bytes);
  return bytes;
}

/** A build's lines as server-sent events with a ping every 15 s and the event `end`. Backpressure applies to the pages.
 */
export async function* eventStream(
  buildId: number,
  pages: AsyncGenerator<LogPage, void>,
  clock: Clock,
): AsyncGenerator<Buffer, void> {
  const ping = Buffer.from(": ping\n\n");
  yield Buffer.from(": lines of a build\n\n");
  try {
    for (let next = asked(pages); ; ) {
      const found = await withinPing(next, clock);
      if (found === undefined) yield ping;
      else if (found.done === true) break;
      else {
        yield eventsOf(buildId, found.value);
        next = asked(pages);
      }
    }
    yield Buffer.from(`event: end\ndata: ${JSON.stringify({ buildId })}\n\n`);
  } finally {
    await pages.return();
  }
}

function asked(pages: AsyncGenerator<LogPage, void>): Promise<IteratorResult<LogPage, void>> {
  const next = pages.next();
  next.catch(() => undefined);
  return next;
}

async function withinPing<T>(next: Promise<T>, clock: Clock): Promise<T | undefined> {
  let cancel = (): void => undefined;
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(pingMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    cancel();
  }
}
