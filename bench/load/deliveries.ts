/** What watchers have seen since the last wait; `failure` when one of them has missed something. */
export interface Deliveries {
  delivered: number;
  failure?: Error | undefined;
}

/** Waits until `expected` events have been delivered in all since the last call. */
export async function awaitDeliveries(state: Deliveries, expected: number): Promise<void> {
  const end = performance.now() + 60_000;
  while (state.delivered < expected) {
    if (state.failure !== undefined) throw state.failure;
    if (performance.now() > end) throw new Error(`${state.delivered} of ${expected} events were delivered`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (state.delivered > expected) throw new Error(`${state.delivered} events were delivered, ${expected} expected`);
  state.delivered = 0;
}
