import { setMaxListeners } from "node:events";
import { openLogStore } from "#dialects/wharf/log-store/log-store.ts";
import type { NewLine } from "#dialects/wharf/log-store/record.ts";
import { systemClock } from "#lib/base/index.ts";
import { bring, type Brought, linesOfBatch } from "../load/brought-lines.ts";

/** Lines of a build as wharf-api keeps them: looked up, numbered, written, flushed; with so many who follow it meanwhile. */
export const run = ({ followers = 0, ...load }: Brought & { readonly followers?: number }) =>
  bring(load, async (batches, message) => {
    const store = await openLogStore({ directory: load.dir, clock: systemClock });
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const following = Array.from({ length: followers }, async () => {
      let seen = 0;
      for await (const { lines } of store.lines(1, { after: 0, until: over.signal })) seen += lines.length;
      return seen;
    });
    for (let batch = 0; batch < batches; batch++) await store.insert(1, linesOf(batch, message), batch % 10 === 9);
    await store.flushed(1);
    over.abort();
    const { lines } = await store.counts(1);
    const seen = await Promise.all(following);
    await store.remove(1);
    await store.close();
    return Math.min(lines, ...seen);
  });

/** Those of one batch, as an aggregator sends them. */
const linesOf = (batch: number, message: string): NewLine[] =>
  Array.from({ length: linesOfBatch }, (_, at) => ({
    stepId: 1,
    workerLogId: batch * linesOfBatch + at + 1,
    time: { seconds: 1_700_000_000, nanos: at },
    message,
  }));
