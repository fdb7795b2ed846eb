import { longestHold } from "../harness/loop-delay.ts";
import { type NoopPlane, startNoopPlane } from "./control-plane.ts";
import type { Endpoint } from "./items.ts";

// B1, B2: a durable control plane behind HTTPS, for load from another process. Its steps do nothing.

let plane: NoopPlane | undefined;

export async function start({ dir }: { readonly dir: string }): Promise<Endpoint> {
  plane = await startNoopPlane(dir);
  const endpoint = await plane.listen(dir);
  longestHold();
  return endpoint;
}

/** Steps carried out since the start, and the longest time the event loop was held. */
export const seen = () => ({ effects: plane?.effects() ?? 0, heldMs: longestHold() });

export async function stop(): Promise<void> {
  await plane?.close();
  plane = undefined;
}
