import { signal } from "@preact/signals";
import type { StreamLine, WaitingApproval } from "#app/ui/wire.ts";
import { requestJson } from "./api.ts";
import { inFrame } from "./frame.ts";
import { keyOf, textOfKey } from "./refs.ts";
import { noteSignedOut, stream } from "./server.ts";
import type { StreamHandle } from "./stream.ts";

/** Steps that wait for a person, by run and step. The frame shows how many. */
export const approvals = signal<ReadonlyMap<string, WaitingApproval>>(new Map());

const keyText = ({ run, step }: WaitingApproval): string => `${textOfKey(keyOf(run))}#${step}`;

let handle: StreamHandle | undefined;

/** Follows them as long as the page is open. */
export async function followApprovals(): Promise<void> {
  try {
    const { items } = await requestJson<{ readonly items: readonly WaitingApproval[] }>("GET", "/approvals");
    approvals.value = new Map(items.map((item) => [keyText(item), item]));
  } catch (thrown) {
    // The stream says when there is a server again.
    noteSignedOut(thrown);
  }
  handle?.close();
  handle = stream.subscribe({ what: "approvals", params: {} }, (line) => inFrame(() => take(line)));
}

function take({ type, object }: StreamLine): void {
  if (type === "GONE") void followApprovals();
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") return;
  const item = object as WaitingApproval;
  const next = new Map(approvals.peek());
  if (type === "DELETED") next.delete(keyText(item));
  else next.set(keyText(item), item);
  approvals.value = next;
}
