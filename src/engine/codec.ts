import type { RunState } from "./run.ts";

/** How a dialect keeps a run in its own status. Field names are its own; unknown fields of the status survive. */
export interface StateCodec<Status> {
  decode(status: Status): RunState;
  /** The status that says what `run` says, with everything else of `before` kept. */
  encode(run: RunState, before: Status): Status;
}

/**
 * The law every codec obeys: a stored status comes back unchanged. Returns undefined when it holds, else both texts for the
 * failure message. Statuses are compared as JSON with sorted keys.
 */
export function codecViolation<Status>(codec: StateCodec<Status>, stored: Status): string | undefined {
  const before = canonical(stored);
  const after = canonical(codec.encode(codec.decode(stored), stored));
  return before === after ? undefined : `stored  ${before}\nencoded ${after}`;
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
