import { signal } from "@preact/signals";
import type { StreamLine, WaitingApproval } from "#app/ui/wire.ts";
import { inFrame } from "./frame.ts";
import { keyOf, textOfKey } from "./refs.ts";
import { stream } from "./server.ts";
import type { StreamHandle } from "./stream.ts";

/** Steps that wait for a person, by run and step. The frame shows how many. */
export const approvals = signal<ReadonlyMap<string, WaitingApproval>>(new Map());

const keyText = ({ run, step }: WaitingApproval): string => `${textOfKey(keyOf(run))}#${step}`;

let handle: StreamHandle | undefined;

/** Follows them as long as the page is open. */
export function followApprovals(): void {
  handle?.close();
  handle = stream.subscribe({ what: "approvals", params: {} }, (line) => inFrame(() => take(line)));
}

function take({ type, object }: StreamLine): void {
  if (type === "BOOKMARK")
    approvals.value = new Map((object as readonly WaitingApproval[]).map((item) => [keyText(item), item]));
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") return;
  const item = object as WaitingApproval;
  const next = new Map(approvals.peek());
  if (type === "DELETED") next.delete(keyText(item));
  else next.set(keyText(item), item);
  approvals.value = next;
}
