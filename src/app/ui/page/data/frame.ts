import { batch } from "@preact/signals";
import { clock } from "./time.ts";

const waiting: (() => void)[] = [];
let isAsked = false;

function applyAll(): void {
  if (!isAsked) return;
  isAsked = false;
  const changes = waiting.splice(0);
  batch(() => changes.forEach((change) => change()));
}

/**
 * Applies the change with all others of this frame, in order, as one update of the page. Hidden pages have no frames:
 * there after 200 ms.
 */
export function inFrame(change: () => void): void {
  waiting.push(change);
  if (isAsked) return;
  isAsked = true;
  if (!document.hidden) requestAnimationFrame(applyAll);
  clock.after(200, applyAll);
}
