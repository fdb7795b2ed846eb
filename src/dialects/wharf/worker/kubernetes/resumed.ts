import { createHash, type Hash } from "node:crypto";
import type { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";

/**
 * Reads a repeatable source exactly once over breaking connections: bytes already passed on are read again, compared
 * and skipped. Every connection must make progress before patience ends. Throws `Artifacts` if the source changed,
 * `RuntimeLost` if it stays away.
 */
export async function* resumed(
  open: () => AsyncIterable<Buffer>,
  patience: Patience,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const passed: Passed = { bytes: 0, hash: createHash("sha256") };
  for (;;) {
    const rest = await patience.ask(() => openPast(open, passed), signal);
    try {
      for (let next = rest.first; next.done !== true; next = await rest.chunks.next()) {
        passed.bytes += next.value.length;
        passed.hash.update(next.value);
        yield next.value;
      }
      return;
    } catch (thrown) {
      if (!patience.isAway(thrown)) throw thrown;
    } finally {
      await rest.chunks.return?.();
    }
  }
}

interface Passed {
  bytes: number;
  readonly hash: Hash;
}

interface Rest {
  readonly first: IteratorResult<Buffer, unknown>;
  readonly chunks: AsyncIterator<Buffer, unknown>;
}

async function openPast(open: () => AsyncIterable<Buffer>, { bytes, hash }: Passed): Promise<Rest> {
  const chunks = open()[Symbol.asyncIterator]();
  const again = createHash("sha256");
  let left = bytes;
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done === true && left > 0) throw changed();
      const chunk = next.done === true ? Buffer.alloc(0) : next.value;
      again.update(chunk.subarray(0, left));
      const fresh = chunk.subarray(left);
      left = Math.max(0, left - chunk.length);
      if (next.done !== true && fresh.length === 0) continue;
      if (again.digest("hex") !== hash.copy().digest("hex")) throw changed();
      return { first: next.done === true ? next : { done: false, value: fresh }, chunks };
    }
  } catch (thrown) {
    await chunks.return?.();
    throw thrown;
  }
}

const changed = (): StepFailure =>
  new StepFailure("Artifacts", "the connection broke while files were fetched, and they were others the next time");
